// Command-line program that plays random histories: a failing one again, or many new ones.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../../scripts/cli/command.ts'
import { startCluster } from './cluster.ts'
import { type HistoryResult, playHistory } from './play-history.ts'

const help = `
Usage: node test/history/run.ts [--seed N] [--steps M] [--count K] [--restore] [--verbose]

Plays K random histories of M steps with the seeds N, N + 1, … on its own servers and
processes. Prints the events of each history in which a response matched no committed
state, and exits with status 1 if there was one.

  --seed N    first seed. Default: 1
  --steps M   transactions and faults of each history. Default: 150
  --count K   number of histories. Default: 1
  --restore   put the database back to an older copy in every history, not in one of ten
  --verbose   print the events of every history
`

const options = {
  seed: { type: 'string', default: '1' },
  steps: { type: 'string', default: '150' },
  count: { type: 'string', default: '1' },
  restore: { type: 'boolean' },
  verbose: { type: 'boolean' },
} as const

const printedViolations = 8
const printedLogCharacters = 3_000

await runCommand(help, options, async ({ seed, steps, count, restore, verbose }) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-history-'))
  await chmod(directory, 0o755)
  const cluster = await startCluster(directory)
  let failed = 0
  let isInterrupted = false
  process.once('SIGINT', () => {
    isInterrupted = true
  })
  try {
    for (let n = 0; n < Number(count) && !isInterrupted; n++) {
      const startedAt = performance.now()
      const result = await playHistory(cluster, Number(seed) + n, Number(steps), {
        restoresDatabase: restore === true,
      })
      printResult(result, (performance.now() - startedAt) / 1000, verbose === true)
      if (result.violations.length === 0) continue
      failed++
      for (const [name, log] of Object.entries(cluster.readLogs(printedLogCharacters)))
        console.log(`--- ${name}\n${log}`)
    }
  } finally {
    await cluster.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return failed > 0 ? 1 : 0
})

function printResult(
  { seed, violations, responses, categories, commits, faults, eventLog }: HistoryResult,
  seconds: number,
  isVerbose: boolean,
): void {
  if (isVerbose || violations.length > 0) for (const line of eventLog) console.log(line)
  for (const line of violations.slice(0, printedViolations)) console.log(`VIOLATION  ${line}`)
  const counts = Object.entries(categories)
    .sort()
    .map(([category, count]) => `${category}: ${count}`)
  console.log(
    `seed ${seed}: ${violations.length} violations in ${responses} responses ` +
      `(${counts.join(', ')}), ${commits} commits, ${faults} faults, ${seconds.toFixed(1)} s`,
  )
}
