// A test file that starts a server and a program, reports what a stopped run must end, and never
// ends by itself.
import { chmod, mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startProgram } from '../support/run-program.ts'

t.test('hangs', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'tqs-hanging-'))
  // Started by root, the server runs as nobody, who must be able to enter the directory.
  await chmod(parent, 0o755)
  const server = await startPostgres({ directory: join(parent, 'postgres') })
  const program = startProgram(t, ['--eval', 'setInterval(() => undefined, 1000)'], {})
  const pids = [process.pid, process.ppid, server.pid, program.child.pid]
  const report = process.env.HANGING_TEST_REPORT ?? ''
  // Renamed, so that a reader never sees half of it.
  await writeFile(`${report}.part`, JSON.stringify(pids))
  await rename(`${report}.part`, report)
  await server.exited
})
