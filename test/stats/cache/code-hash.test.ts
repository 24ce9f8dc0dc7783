// The hash of the code that computes statistics, which keeps releases apart in Redis.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { codeHash, hashFiles } from '../../../src/stats/cache/code-hash.ts'

t.test('the hash depends on every file', async (t) => {
  const directory = t.testdir({ stats: { 'a.ts': '1', cache: { 'b.ts': '2' } }, 'other.ts': '3' })
  const hash = () => hashFiles(directory, ['stats/**/*.ts'])
  const first = hash()
  t.match(first, /^[\w-]{16}$/)
  writeFileSync(join(directory, 'other.ts'), '4')
  t.equal(hash(), first, 'a file that no pattern matches')
  writeFileSync(join(directory, 'stats/cache/b.ts'), '5')
  t.not(hash(), first)
})

t.test(
  'a pattern without a file is an error, because all releases would be the same',
  async (t) => {
    const directory = t.testdir({ stats: { 'a.ts': '1' } })
    t.throws(() => hashFiles(directory, ['stats/**/*.ts', 'company/money.ts']), {
      message: /needs company\/money\.ts, but no file matches/,
    })
    t.match(codeHash, /^[\w-]{16}$/, 'the service has all of its files')
  },
)
