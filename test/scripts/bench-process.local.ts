// The processes of a benchmark end with it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { childrenOf, findChild } from '../support/child-processes.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'

const program = join(import.meta.dirname, '../../scripts/bench/support/processes/bench-process.ts')

/** Starts a benchmark that starts a process, prints the pid of it, and runs `then`. */
function startBenchmark(then: string) {
  const code = `
    import { startBenchProcess } from ${JSON.stringify(program)}
    const measured = startBenchProcess(['-e', 'setInterval(() => {}, 1000)'])
    console.log(measured.pid)
    ${then}`
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false // there is no such process
  }
}

t.test('a benchmark that fails ends, and leaves no process', async (t) => {
  const benchmark = startBenchmark('process.exitCode = 1')
  const [output, [status]] = await Promise.all([text(benchmark.stdout), once(benchmark, 'exit')])
  t.equal(status, 1)
  t.match(output, /^\d+\n$/)
  t.notOk(
    await eventually(
      async () => isRunning(Number(output)),
      (isLeft) => !isLeft,
    ),
  )
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const)
  t.test(`a benchmark that is ended by ${signal} leaves no process`, async (t) => {
    const benchmark = startBenchmark('setInterval(() => {}, 1000)')
    const [chunk] = await once(benchmark.stdout, 'data')
    const pid = Number(chunk)
    t.ok(isRunning(pid))
    benchmark.kill(signal)
    await once(benchmark, 'exit')
    t.notOk(
      await eventually(
        async () => isRunning(pid),
        (isLeft) => !isLeft,
      ),
    )
  })

t.test('a benchmark waits until a process that it stops has ended', async (t) => {
  const benchmark = startBenchmark(`
    await measured.stop()
    await measured.stop()
    console.log(measured.hasEnded())`)
  t.match(await text(benchmark.stdout), /^\d+\ntrue\n$/)
})

t.test('the search benchmark ends with the first failure as its last line', async (t) => {
  const args = ['--products', '200', '--keystrokes', '300', '--rounds', '1000']
  const benchmark = startProgram(t, ['scripts/bench/search.ts', ...args], {})
  const { pid = 0 } = benchmark.child
  await eventually(
    async () => benchmark.output(),
    (output) => output.includes('round 1 of') || benchmark.child.exitCode !== null,
    120_000,
  )
  const children = await childrenOf(pid)
  process.kill((await findChild(pid, 'meilisearch')) ?? Number.NaN, 'SIGKILL')
  t.equal(await benchmark.exit, 1)
  const lastLine = benchmark.output().trimEnd().split('\n').at(-1)
  // The API may reject a search first: without the engine, PostgreSQL has to answer all of them.
  t.match(lastLine, /^(connect ECONNREFUSED|read ECONNRESET|socket hang up|503).* for http:/)
  t.same(children.filter(isRunning), [], 'every process has ended')
})
