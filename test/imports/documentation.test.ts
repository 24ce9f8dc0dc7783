// The commands of docs/importing.md, run as they stand there with the files of the page.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testDatabase } from '../support/database/test-database.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { runScript } from './import-script.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/importing.md'), 'utf8')

t.test('the commands of docs/importing.md work', async (t) => {
  const database = await testDatabase(t)
  const folder = createTemporaryDirectory(t, 'documentation')
  for (const [, name = '', content = ''] of page.matchAll(
    /<!-- file: (\S+) -->\n```csv\n(.*?)```/gs,
  ))
    writeFileSync(join(folder, name), content)
  const commands = [...page.matchAll(/<!-- test -->\n```sh\n(.*?)```/gs)].flatMap(
    ([, block = '']) => block.replaceAll('\\\n', ' ').trim().split('\n'),
  )
  t.equal(commands.length, 8)
  for (const command of commands) {
    const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    )
    t.same(words.slice(0, 2), ['scripts/run', 'import'], command)
    const args = words.slice(2).map((word) => {
      if (existsSync(join(folder, word)) || word === 'rejected.csv') return join(folder, word)
      return word.startsWith('src/') ? join(root, word) : word
    })
    const { status, stderr } = await runScript(args, database.roles.importer)
    // The price list is only tried out, so its pinned SKU is unknown: that is a warning.
    t.equal(status, command.includes('pins') ? 3 : 0, `${command}\n${stderr}`)
  }
})
