// The rules of the source tree: who imports whom, and the names and sizes of folders and files.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

/** The folders of src that are features. All other folders are shared by them. */
const features = ['search', 'search-report', 'indexing', 'stats', 'quotes', 'imports', 'web']
/** The names that every feature may use. All other file names of src are unique. */
const repeatedFileNames = ['route.ts', 'schema.ts', 'openapi.ts']
const maxFilesPerFolder = 16
const maxLineLength = 100
/** Files whose long URLs or data cannot be wrapped. */
const filesWithLongLines: string[] = []

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
    const outside = imports.filter(
      (target) => !target.startsWith('src/database/') && target !== 'src/timeouts.ts',
    )
    t.same(outside, [], name)
  }
})

t.test('a migration imports only Kysely and Node, and reads no file but its own', async (t) => {
  const folder = 'src/database/migrations/'
  const migrations = srcFiles.filter(({ name }) => name.startsWith(folder))
  t.ok(migrations.length > 30)
  for (const { name, text, imports, packages } of migrations) {
    t.same(imports, [], name)
    const others = packages.filter((target) => target !== 'kysely' && !target.startsWith('node:'))
    t.same(others, [], name)
    const files = [...text.matchAll(/'([^']*\.sql)'/g)].map(([, file = '']) => file)
    const own = basename(name).replace(/ts$/, 'sql')
    t.same(
      files.filter((file) => file !== own),
      [],
      name,
    )
  }
})

t.test('a migration with a module and a file of SQL reads that file', async (t) => {
  // Otherwise the module would replace the file, and its statements would never run.
  const statements = listFiles('src/database/migrations').filter((name) => name.endsWith('.sql'))
  t.ok(statements.length > 10)
  for (const file of statements) {
    const module = srcFiles.find(({ name }) => name === file.replace(/sql$/, 'ts'))
    if (module) t.match(module.text, `'${basename(file)}'`, file)
  }
})

t.test('only config/read-settings.ts reads the environment', async (t) => {
  for (const { name, text } of srcFiles)
    if (name !== 'src/config/read-settings.ts')
      t.notMatch(text, /process\.env|\benv\b.* from 'node:process'/, name)
})

t.test('only registration.ts writes search_indexes, except for used_at', async (t) => {
  const statement =
    /(update|into|delete from) search_indexes|(update|insert|delete)\w+\('search_indexes'/g
  const writers = srcFiles
    .filter(({ name }) => !name.startsWith('src/database/'))
    .flatMap(({ name, text }) => (text.match(statement) ?? []).map((found) => `${name}: ${found}`))
    .filter((writer) => !writer.startsWith('src/indexing/registration.ts'))
  t.same(writers, ['src/search-engine/index-state-follower.ts: update search_indexes'])
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

t.test(`no folder of src has more than ${maxFilesPerFolder} files`, async (t) => {
  const files = listFiles('src')
  for (const folder of new Set(files.map(dirname))) {
    // Released migrations are never removed.
    if (folder === 'src/database/migrations') continue
    const count = files.filter((name) => dirname(name) === folder).length
    t.ok(count <= maxFilesPerFolder, `${folder} has ${count} files`)
  }
})

t.test('no two files of src have the same name', async (t) => {
  const names = srcFiles.map(({ name }) => name)
  for (const name of names) {
    if (repeatedFileNames.includes(basename(name))) continue
    const sameNames = names.filter((other) => basename(other) === basename(name))
    t.same(sameNames, [name])
  }
})

t.test(`no line is longer than ${maxLineLength} characters`, async (t) => {
  for (const { name, text } of sources) {
    if (filesWithLongLines.includes(name)) continue
    const longLines = text.split('\n').filter((line) => [...line].length > maxLineLength)
    t.same(longLines, [], name)
  }
})

t.test(`no line of README is longer than ${maxLineLength} characters`, async (t) => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').split('\n')
  t.same(
    lines.filter((line) => [...line].length > maxLineLength),
    [],
  )
})

t.test('every program file that README or docs name exists', async (t) => {
  const pages = ['README.md', ...listFiles('docs').filter((name) => name.endsWith('.md'))]
  let found = 0
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const [, path = ''] of text.matchAll(/[\s`(]((?:[\w.-]+\/)+[\w.-]+\.ts)[\s`):,]/g)) {
      found += 1
      // docs/adding-a-language.md names the files of a language that does not exist yet.
      if (path.endsWith('-nl.ts')) continue
      const candidates = ['', 'src'].map((folder) => join(root, folder, path))
      t.ok(candidates.some(existsSync), `${page}: ${path}`)
    }
  }
  t.ok(found > 50, `${found} paths`)
})

/** Returns the paths of all files below a folder, relative to the root. */
function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function isOwnCode(name: string): boolean {
  const isGenerated = name.startsWith('test/api-docs/client/')
  return name.endsWith('.ts') && !name.includes('node_modules/') && !isGenerated
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
