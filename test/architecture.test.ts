// The rules that keep the house a house, checked by reading its import lines.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const files = ['src', 'scripts']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  )
  .filter((name) => name.endsWith('.ts'))

type Source = { name: string; text: string; imports: string[]; packages: string[] }

const sources: Source[] = files.map((name) => {
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
})
const features = ['search', 'indexing', 'stats', 'quotes', 'imports', 'web']
const featureOf = (name: string) => features.find((feature) => name.startsWith(`src/${feature}/`))

t.test('the imports were really read', async (t) => {
  t.ok(sources.length > 20, `${sources.length} files`)
  t.ok(sources.some(({ imports }) => imports.includes('src/app.ts')))
})

t.test('src never imports scripts or test', async (t) => {
  for (const { name, imports } of sources.filter(({ name }) => name.startsWith('src/'))) {
    t.same(
      imports.filter((target) => !target.startsWith('src/')),
      [],
      name,
    )
  }
})

t.test('a feature never imports another feature', async (t) => {
  for (const { name, imports } of sources.filter(({ name }) => featureOf(name))) {
    t.same(
      imports.filter((target) => featureOf(target) && featureOf(target) !== featureOf(name)),
      [],
      name,
    )
  }
})

t.test('a shared folder never imports a feature', async (t) => {
  const shared = sources.filter(({ name }) => /^src\/[^/]+\//.test(name) && !featureOf(name))
  t.ok(shared.length > 20)
  for (const { name, imports } of shared) {
    t.same(imports.filter(featureOf), [], name)
  }
})

t.test('nothing below app.ts imports app.ts, server.ts or config.ts', async (t) => {
  const above = ['src/app.ts', 'src/server.ts', 'src/config.ts']
  for (const { name, imports } of sources.filter(
    ({ name }) => name.startsWith('src/') && !above.includes(name),
  )) {
    t.same(
      imports.filter((target) => above.includes(target)),
      [],
      name,
    )
  }
})

t.test(
  'database/ imports nothing above it, and a migration only Kysely and earlier ones',
  async (t) => {
    for (const { name, imports, packages } of sources.filter(({ name }) =>
      name.startsWith('src/database/'),
    )) {
      t.same(
        imports.filter(
          (target) => !target.startsWith('src/database/') && target !== 'src/timeouts.ts',
        ),
        [],
        name,
      )
      if (name.includes('/migrations/')) {
        const later = imports.filter(
          (target) => !target.startsWith('src/database/migrations/') || target >= name,
        )
        t.same([later, packages], [[], ['kysely']], name)
      }
    }
  },
)

t.test('only config.ts reads the environment, and only four folders create clients', async (t) => {
  const mayCreate = /^src\/(database|redis|search-engine|indexing)\//
  for (const { name, text } of sources.filter(({ name }) => name.startsWith('src/'))) {
    if (name !== 'src/config.ts') t.notMatch(text, /process\.env/, name)
    if (!mayCreate.test(name)) t.notMatch(text, /new (Redis|Pool|Meilisearch|Client)\(/, name)
  }
})

t.test(
  'only routes, app, http, auth, rate-limits, overload and monitoring import Fastify',
  async (t) => {
    for (const { name, packages } of sources) {
      const may =
        /^src\/app\.ts$|^src\/(http|auth|rate-limits|overload|monitoring)\/|^src\/[a-z-]+\/route\.ts$|^scripts\/bench\//.test(
          name,
        )
      if (!may) t.notOk(packages.includes('fastify'), name)
    }
  },
)

t.test('there are no cycles', async (t) => {
  const importsOf = new Map(sources.map(({ name, imports }) => [name, imports]))
  const done = new Set<string>()
  const visit = (name: string, path: string[]): void => {
    if (path.includes(name))
      return void t.fail(`cycle: ${[...path.slice(path.indexOf(name)), name].join(' → ')}`)
    if (done.has(name)) return
    for (const target of importsOf.get(name) ?? []) visit(target, [...path, name])
    done.add(name)
  }
  for (const { name } of sources) visit(name, [])
  t.equal(done.size >= sources.length, true)
})
