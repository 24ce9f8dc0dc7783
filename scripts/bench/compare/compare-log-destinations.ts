// Compares our log destination with the buffer of pino: processor time per log line.
import { openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { type DestinationStream, destination, pino } from 'pino'
import { logFlushMs, openLogDestination } from '../../../src/monitoring/log/log-destination.ts'
import { runCommand } from '../../cli/command.ts'
import { median } from '../support/load/quantile.ts'

const help = `
Usage: node scripts/bench/compare/compare-log-destinations.ts [--rounds N] [--lines N]

Writes the log line of a request into a file: with our destination, with the buffer of pino in
blocks of several sizes, and without a buffer. The variants take turns in each round. Prints the
median processor time per line, including its formatting.

  --rounds N  rounds (7)
  --lines N   lines for each variant in each round (100000)
`

/** The lines of one turn of the event loop, as under load. */
const linesPerTurn = 20

const variants: Record<string, (fd: number) => DestinationStream> = {
  ours: openLogDestination,
  'pino, 2 kB': (fd) => openPinoBuffer(fd, 2_048),
  'pino, 4 kB': (fd) => openPinoBuffer(fd, 4_096),
  'pino, 16 kB': (fd) => openPinoBuffer(fd, 16_383),
  'no buffer': (fd) => destination({ dest: fd, sync: true }),
}

await runCommand(
  help,
  { rounds: { type: 'string', default: '7' }, lines: { type: 'string', default: '100000' } },
  async ({ rounds, lines }) => {
    const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
    const fd = openSync(join(directory, 'log'), 'w')
    const logs = Object.entries(variants).map(([name, open]) => ({
      name,
      log: pino({}, open(fd)),
      measurements: [] as number[],
    }))
    try {
      for (let round = 0; round < Number(rounds); round += 1)
        for (const { log, measurements } of logs)
          measurements.push(await measure(log, Number(lines)))
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
    for (const { name, measurements } of logs)
      console.log(`${name.padEnd(12)} ${median(measurements).toFixed(2)} µs per line`)
    return 0
  },
)

function openPinoBuffer(fd: number, minLength: number): DestinationStream {
  const periodicFlush = logFlushMs
  return destination({ dest: fd, minLength, periodicFlush, sync: true })
}

/** Returns microseconds of processor time per line. */
async function measure(log: pino.Logger, lines: number): Promise<number> {
  const before = process.cpuUsage()
  for (let line = 1; line <= lines; line += 1) {
    log.info({ method: 'GET', route: '/api/stats', status: 200, ms: 1 }, 'request')
    if (line % linesPerTurn === 0) await setImmediate()
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / lines
}
