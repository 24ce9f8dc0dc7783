// The tests pass in a directory that only its owner can enter, such as one below the home of root,
// with a space in its path.
import { chmodSync, cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startProgram } from '../support/run-program.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
/** The servers of this file give up the rights of root, and it renders PDFs. */
const file = 'test/quotes/requested-representation.test.ts'

t.test('a test passes in a private checkout', async (t) => {
  const home = createTemporaryDirectory(t, 'private')
  chmodSync(home, 0o700)
  const checkout = join(home, 'a clone')
  mkdirSync(checkout)
  for (const name of ['demo', 'scripts', 'src', 'test', 'package.json', '.taprc'])
    cpSync(join(root, name), join(checkout, name), {
      recursive: true,
      filter: (source) => !source.includes('node_modules'),
    })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  // As a user starts it: without the servers and the settings of this run.
  const run = startProgram(t, [join(checkout, 'scripts/test.ts'), file], {
    PATH: process.env.PATH,
    HOME: home,
  })
  t.equal(await run.exit, 0, run.output())
  t.match(run.output(), /^[1-9]\d* passed, 0 failed$/m)
})
