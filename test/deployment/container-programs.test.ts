// The programs of the container test end with what they have started when somebody stops the test.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { identifyProcess, isAlive } from '../../scripts/servers/process-identity.ts'
import { run } from '../containers/run-program.ts'
import { eventually } from '../support/eventually.ts'

const directory = mkdtempSync(join(tmpdir(), 'tqs-run-program-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))

t.test('a program that is stopped ends with the programs that it has started', async (t) => {
  const file = join(directory, 'pid')
  const stop = new AbortController()
  const script = `sleep 1000 & echo $! >${file}; wait`
  const running = run('bash', ['-c', script], { signal: stop.signal })
  const pid = await eventually(async () => readPid(file), Boolean)
  const child = identifyProcess(pid)
  t.ok(isAlive(child))
  stop.abort('Ctrl+C')
  await t.rejects(running, 'Ctrl+C')
  t.notOk(
    await eventually(
      async () => isAlive(child),
      (alive) => !alive,
    ),
  )
  await t.rejects(async () => run('true', [], { signal: stop.signal }), 'nothing starts afterwards')
})

t.test('a program reads its input, and its output is returned', async (t) => {
  t.equal(await run('cat', [], { input: 'one\n' }), 'one\n')
  t.equal(await run('sh', ['-c', 'pwd; echo no >&2'], { cwd: '/' }), '/\n')
})

function readPid(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}
