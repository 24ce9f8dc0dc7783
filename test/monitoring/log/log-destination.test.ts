// The destination of log lines: blocks, the periodic flush, and the flush at exit.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'

const module = join(import.meta.dirname, '../../../src/monitoring/log/program-log.ts')

/** Runs a program that has `log`, a pino logger on the destination. */
function runWithLog(t: Test, program: string) {
  const text = `
    const { pino } = await import('pino')
    const { openLogDestination } = await import(${JSON.stringify(module)})
    const log = pino({}, openLogDestination())
    ${program}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    cwd: join(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const closed = new Promise((resolve) => child.once('close', resolve))
  return { lines: () => output.split('\n').filter((line) => line !== ''), closed }
}

t.test('writes every line when the process exits', async (t) => {
  const { lines, closed } = runWithLog(
    t,
    `for (let number = 0; number < 1000; number += 1) log.info({ number }, 'line')
    process.exit(0)`,
  )
  await closed
  t.same(
    lines().map((line) => JSON.parse(line).number),
    Array.from({ length: 1000 }, (_, number) => number),
  )
})

t.test('writes a single line while the process runs', async (t) => {
  const { lines } = runWithLog(t, `log.info('first'); setInterval(() => {}, 1000)`)
  const written = await eventually(async () => lines().length, Boolean)
  t.equal(written, 1)
})
