// The hash of the code that computes statistics, which keeps releases apart in Redis.
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { codeHash, hashFiles, sourceFiles } from '../../../src/stats/cache/code-hash.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'

const sourceDirectory = join(import.meta.dirname, '../../../src')

t.test('the hash contains every file that computes statistics', async (t) => {
  const hashed = globSync(sourceFiles, { cwd: sourceDirectory })
  // They describe the response and the tables, or decide whether a query is repeated.
  const exceptions = [
    'api-docs/nullable-schema.ts',
    'database/failover/broken-connections.ts',
    'database/failover/retry-reads.ts',
    'database/table-types.ts',
    ...['de', 'en', 'es', 'fr', 'it', 'languages', 'pt'].map((name) => `texts/${name}.ts`),
  ]
  const imported = listImportedFiles('stats/read-stats.ts')
  t.ok(imported.includes('company/currencies.ts'))
  t.same(
    imported.filter((file) => !hashed.includes(file)).toSorted(),
    exceptions,
    'add other files to sourceFiles of code-hash.ts if they can change statistics',
  )
})

t.test('the hash depends on the name and the text of every file', async (t) => {
  const directory = createTemporaryDirectory(t, 'code-hash')
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
  mkdirSync(join(directory, 'stats/cache'), { recursive: true })
  write('stats/a.ts', '1')
  write('stats/cache/b.ts', '2')
  const hash = () => hashFiles(directory, ['stats/**/*.ts'])
  const first = hash()
  t.match(first, /^[\w-]{16}$/)
  write('other.ts', '3')
  t.equal(hash(), first, 'a file that no pattern matches')
  write('stats/cache/b.ts', '4')
  const second = hash()
  t.not(second, first)
  renameSync(join(directory, 'stats/cache/b.ts'), join(directory, 'stats/cache/c.ts'))
  t.not(hash(), second, 'the name counts too')
})

t.test(
  'a pattern without a file is an error, because all releases would be the same',
  async (t) => {
    const directory = createTemporaryDirectory(t, 'code-hash')
    writeFileSync(join(directory, 'a.ts'), '1')
    t.throws(() => hashFiles(directory, ['*.ts', 'company/money.ts']), {
      message: /needs company\/money\.ts, but no file matches/,
    })
    t.match(codeHash, /^[\w-]{16}$/, 'the service has all of its files')
  },
)

/** Returns the files of src that a file imports, directly or through others, and itself. */
function listImportedFiles(file: string, found: string[] = []): string[] {
  if (found.includes(file)) return found
  found.push(file)
  const text = readFileSync(join(sourceDirectory, file), 'utf8')
  const isOnlyTypes = (names: string) => /^type |^\{(\s*type \w+,?)+\s*\}$/.test(names)
  for (const [, names = '', target = ''] of text.matchAll(
    /^(?:import|export) ([^;=]*?) from '(\.[^']+)'/gm,
  ))
    if (!isOnlyTypes(names)) listImportedFiles(join(dirname(file), target), found)
  return found
}
