// The hash of the code that computes statistics, which keeps releases apart in Redis.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { codeHash, hashFiles } from '../../../src/stats/cache/code-hash.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'

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
