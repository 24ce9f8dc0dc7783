// Renderings in a service that was started with a low priority (Nice=10 in systemd), by a user who
// may not raise it.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { generateLines, insertLinkedQuote } from '../../scripts/bench/data/linked-quotes.ts'
import { testDatabase } from '../support/database/test-database.ts'

const run = promisify(execFile)
/** Root may raise a priority. With all its other rights, a process can still read the checkout. */
const withoutRaising = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_nice'] : []

for (const priority of [10, 15])
  t.test(`PDFs and large pages are rendered by a process of priority ${priority}`, async (t) => {
    const { db, roles } = await testDatabase(t)
    const token = await insertLinkedQuote(db, 'LARGE', generateLines(200))
    const program = join(import.meta.dirname, 'render-at-low-priority.ts')
    const { stdout } = await run('nice', [
      ...['-n', String(priority)],
      ...withoutRaising,
      ...[process.execPath, program, roles.api, token],
    ])
    const result = JSON.parse(stdout)
    t.match(result, { pdf: '%PDF-', json: Number, mayRaisePriority: false })
    t.ok(result.priority >= priority, `priority ${result.priority}`)
  })
