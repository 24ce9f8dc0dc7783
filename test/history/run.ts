// Plays histories by hand: a failing one again, or many new ones.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../../scripts/cli/command.ts'
import { playHistory } from './history.ts'
import { startWorld } from './world.ts'

const help = `
Usage: node test/history/run.ts [--seed N] [--steps M] [--count K]

Plays K (1) histories of M (150) steps with the seeds N, N + 1, … (by default 1) on servers and programs of their own, and prints what happened
in those in which an answer agreed with no committed state. --verbose prints what happened in all of them. Exits 1 when there was one.
`

const options = {
  seed: { type: 'string', default: '1' },
  steps: { type: 'string', default: '150' },
  count: { type: 'string', default: '1' },
  verbose: { type: 'boolean' },
} as const

await runCommand(help, options, async ({ seed, steps, count, verbose }) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-history-'))
  await chmod(directory, 0o755)
  const world = await startWorld(directory)
  let failed = 0
  let isOver = false
  process.once('SIGINT', () => {
    isOver = true
  })
  try {
    for (let n = 0; n < Number(count) && !isOver; n++) {
      const startedAt = performance.now()
      const verdict = await playHistory(world, Number(seed) + n, Number(steps))
      const { wrong, answers, kinds, commits, faults, events } = verdict
      if (verbose || wrong.length > 0) for (const line of events) console.log(line)
      for (const line of wrong.slice(0, 8)) console.log(`WRONG  ${line}`)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      const counted = Object.entries(kinds)
        .sort()
        .map(([kind, number]) => `${kind}: ${number}`)
      console.log(
        `seed ${verdict.seed}: ${wrong.length} wrong of ${answers} answers (${counted.join(', ')}), ${commits} commits, ${faults} faults, ${seconds} s`,
      )
      if (wrong.length === 0) continue
      failed++
      for (const name of ['indexer-1', 'indexer-2', 'api-1', 'api-2'] as const)
        console.log(`--- ${name}\n${world.log(name).slice(-3000)}`)
    }
  } finally {
    await world.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return failed > 0 ? 1 : 0
})
