// Who imports whom, and which folders read the environment, create clients and know Fastify.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

/** The folders of src that are features. All other folders are shared by them. */
const features = ['search', 'search-report', 'indexing', 'stats', 'quotes', 'imports', 'web']

type Source = { name: string; text: string; imports: string[]; packages: string[] }

const sources: Source[] = ['src', 'scripts', 'test'].flatMap(listFiles).filter(isOwnCode).map(parse)
const srcFiles = sources.filter(({ name }) => name.startsWith('src/'))
const programFiles = sources.filter(({ name }) => !name.startsWith('test/'))

t.test('the sources and their imports are read', async (t) => {
  for (const folder of ['src/', 'scripts/', 'test/'])
    t.ok(sources.filter(({ name }) => name.startsWith(folder)).length > 20, folder)
  t.ok(sources.some(({ imports }) => imports.includes('src/app.ts')))
  for (const feature of features) t.ok(srcFiles.some(isIn(feature)), feature)
})

t.test('src never imports scripts or test', async (t) => {
  for (const { name, imports } of srcFiles) {
    const outside = imports.filter((target) => !target.startsWith('src/'))
    t.same(outside, [], name)
  }
})

t.test('a feature never imports another feature', async (t) => {
  for (const { name, imports } of srcFiles) {
    const feature = featureOf(name)
    if (feature === undefined) continue
    const others = imports.filter((target) => ![feature, undefined].includes(featureOf(target)))
    t.same(others, [], name)
  }
})

t.test('a shared folder never imports a feature', async (t) => {
  const sharedFiles = srcFiles.filter(
    ({ name }) => dirname(name) !== 'src' && featureOf(name) === undefined,
  )
  t.ok(sharedFiles.length > 20)
  for (const { name, imports } of sharedFiles) t.same(imports.filter(featureOf), [], name)
})

t.test('no other file of src imports server, connections, app, routes or config', async (t) => {
  const names = ['server', 'connections', 'app', 'routes', 'config']
  const entryFiles = names.map((name) => `src/${name}.ts`)
  for (const { name, imports } of srcFiles) {
    if (entryFiles.includes(name)) continue
    const imported = imports.filter((target) => entryFiles.includes(target))
    t.same(imported, [], name)
  }
})

t.test('database/ imports no other folder', async (t) => {
  for (const { name, imports } of srcFiles.filter(isIn('database'))) {
    const outside = imports.filter((target) => !target.startsWith('src/database/'))
    t.same(outside, [], name)
  }
})

t.test('only config/read-settings.ts reads the environment', async (t) => {
  for (const { name, text } of srcFiles)
    if (name !== 'src/config/read-settings.ts')
      t.notMatch(text, /process\.env|\benv\b.* from 'node:process'/, name)
})

t.test('only database, redis, search-engine and indexing create clients', async (t) => {
  const mayCreate = /^src\/(database|redis|search-engine|indexing)\//
  for (const { name, text } of srcFiles)
    if (!mayCreate.test(name)) t.notMatch(text, /new (Redis|Pool|Meilisearch|Client)\(/, name)
})

t.test(
  'only routes, app, http, auth, rate-limits, overload, monitoring and tracing import Fastify',
  async (t) => {
    const mayImport = [
      /^src\/(app|routes)\.ts$/,
      /^src\/(http|auth|rate-limits|overload|monitoring|tracing)\//,
      /^src\/[a-z-]+\/route\.ts$/,
      /^scripts\/bench\//,
    ]
    for (const { name, packages } of programFiles) {
      if (mayImport.some((pattern) => pattern.test(name))) continue
      t.notOk(packages.includes('fastify'), name)
    }
  },
)

t.test('no file imports itself through others', async (t) => {
  const importsOf = new Map(programFiles.map(({ name, imports }) => [name, imports]))
  const checked = new Set<string>()
  const findCycles = (name: string, path: string[]): void => {
    if (path.includes(name)) {
      const cycle = [...path.slice(path.indexOf(name)), name]
      t.fail(`cycle: ${cycle.join(' → ')}`)
      return
    }
    if (checked.has(name)) return
    for (const target of importsOf.get(name) ?? []) findCycles(target, [...path, name])
    checked.add(name)
  }
  for (const { name } of programFiles) findCycles(name, [])
  t.ok(checked.size >= programFiles.length)
})

/** Returns the paths of all files below a folder, relative to the root. */
function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function isOwnCode(name: string): boolean {
  const isGenerated = name.startsWith('test/api-docs/client/')
  return /\.tsx?$/.test(name) && !name.includes('node_modules/') && !isGenerated
}

function parse(name: string): Source {
  const text = readFileSync(join(root, name), 'utf8')
  const targets = [...text.matchAll(/(?:from|import) '([^']+)'/g)].map(([, target]) => target ?? '')
  return {
    name,
    text,
    imports: targets
      .filter((target) => target.startsWith('.'))
      .map((target) => relative(root, join(root, dirname(name), target))),
    packages: targets.filter((target) => !target.startsWith('.')),
  }
}

function featureOf(name: string): string | undefined {
  return features.find((feature) => name.startsWith(`src/${feature}/`))
}

function isIn(folder: string): (source: Source) => boolean {
  return ({ name }) => name.startsWith(`src/${folder}/`)
}
