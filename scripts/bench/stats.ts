// Measures /api/stats and its summary in good and in bad conditions: without and with the caches,
// after a bulk write, beside an old snapshot, and what the triggers cost writers.
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeError } from '../../src/monitoring/describe-error.ts'
import { runCommand, UsageError } from '../cli/command.ts'
import { startServers, type TestServers } from '../servers/test-servers.ts'
import { reportBulkInsert } from './stats/bulk-insert.ts'
import { reportBulk } from './stats/bulk-not-folded.ts'
import { reportCold } from './stats/cold.ts'
import { type BenchDatabase, BenchDatabases } from './stats/databases.ts'
import { createGeneratedDatabase, waitForAutovacuum } from './stats/generated-database.ts'
import { reportPollsAfterBulk, reportPollsBesideSnapshot } from './stats/polls.ts'
import { reportSingleWrites } from './stats/single-writes.ts'
import { reportSnapshot } from './stats/snapshot.ts'
import { reportWarm } from './stats/warm.ts'
import { linesPerQuote } from './support/data/generated-quotes.ts'

const help = `
Usage: node scripts/bench/stats.ts [--quotes 10000,1000000] [--only cold,bulk,…]
                                   [--writes N] [--pace N] [--rounds N] [--seconds N]
                                   [--limit N] [--lines N]
                                   [--through-triggers N]

Starts PostgreSQL and Redis in a temporary directory and generates quotes: six
years, forty countries, three currencies, 5,000 customers, 4,000 products. They are written through
the triggers in steps and folded after each step, as in production. Nothing is analysed or vacuumed
by hand, only by autovacuum.
"cold" runs for each number of quotes. The others run for the last number, each on its own copy
that was made after autovacuum had finished:

  cold      p95 of computing the statistics without any cache, for the queries of a dashboard:
            right after generating the quotes, and when autovacuum has finished. Next to plain
            aggregates over the same quotes. Then the same by customer and by product.
  bulk      the same, and a reading of the state ("poll"), right after 50,000 quotes
            were written in one transaction, not folded and not analysed. Autovacuum is off
            for these tables, so that it cannot help. Compared with before the write.
  snapshot  the same, and a fold that finds nothing, during --writes single-row writes while a
            transaction that has read every table stays open, as pg_dump or a long report
            does, and an API process folds. 50 % of the writes insert quotes, 30 % accept
            quotes, 20 % change amounts. First for quotes of all six years, then for those of
            the current month.
  writes    time of single-row writes with and without the triggers of the summary, each in
            its own transaction, in alternating rounds.
  polls     time of one reading of the state of the summary: idle, after the bulk write, and beside the
            snapshot. Running API processes read it several times a second.
  triggers  quotes a second of a bulk insert, with and without the triggers.
  warm      requests a second of /api/stats as a multiple of two Fastify routes that send the
            same bytes: "minimal" does nothing else, "baseline" has the same log, key check
            and headers.

Each figure stands beside the bar that the project has set. Processor time is that of
PostgreSQL's backend and does not depend on the load of the machine (Linux only). Ratios come
from the same run and are valid on any machine, absolute numbers only on this one. Ctrl+C stops
everything and removes the data.

  --quotes N,…          numbers of quotes. Default: 10000,1000000
  --only NAME,…         measurements to run. Default: all
  --writes N            single-row writes beside the snapshot. Default: 100000
  --pace N              at most as many of these writes a second. Default: as many as possible
  --rounds N            rounds of "writes", "triggers" and "warm". Default: 5
  --seconds N           duration of each measurement of "warm". Default: 4
  --limit N             seconds after which PostgreSQL cancels a measured statement, which is
                        then printed as cancelled. Default: 10, as in the API
  --lines N             lines of each generated quote; 0 generates quickly, and leaves nothing to
                        ask by product. Default: 5
  --through-triggers N  as many of the last quotes are written through the triggers. Those
                        before are written without them, and the summary is built from them
                        at once, which is quicker. Default: 1000000
`

const measurements = ['cold', 'bulk', 'snapshot', 'writes', 'polls', 'triggers', 'warm'] as const
type Measurement = (typeof measurements)[number]

const options = {
  quotes: { type: 'string', default: '10000,1000000' },
  only: { type: 'string', default: measurements.join(',') },
  writes: { type: 'string', default: '100000' },
  pace: { type: 'string', default: '' },
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '4' },
  limit: { type: 'string', default: '10' },
  lines: { type: 'string', default: String(linesPerQuote) },
  'through-triggers': { type: 'string', default: '1000000' },
} as const

type Settings = {
  counts: number[]
  selected: Set<Measurement>
  writes: number
  pace: number
  rounds: number
  seconds: number
  limitMs: number
  lines: number
  throughTriggers: number
}

type Run = Settings & {
  databases: BenchDatabases
  servers: TestServers
  directory: string
  children: ChildProcess[]
}

await runCommand(help, options, async (values) => {
  const settings = readSettings(values)
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  const children: ChildProcess[] = []
  const starting = startServers(directory, 1, (line) => console.log(line))
  let databases: BenchDatabases | undefined
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= stopAll({ directory, children, starting, databases })
    return stopping
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(130)))
  try {
    const servers = await starting
    databases = new BenchDatabases(servers.databaseUrl, settings.limitMs)
    await measure({ ...settings, databases, servers, directory, children })
    return 0
  } finally {
    await stop()
  }
})

function readSettings(values: Record<keyof typeof options, string>): Settings {
  const names = values.only.split(',')
  for (const name of names)
    if (!measurements.some((known) => known === name))
      throw new UsageError(`--only: unknown measurement ${name}. Use ${measurements.join(', ')}.`)
  const readCount = (name: keyof typeof options) => parseCount(name, values[name])
  return {
    counts: values.quotes.split(',').map((count) => parseCount('quotes', count)),
    selected: new Set(measurements.filter((name) => names.includes(name))),
    writes: readCount('writes'),
    pace: values.pace === '' ? Number.POSITIVE_INFINITY : readCount('pace'),
    rounds: readCount('rounds'),
    seconds: readCount('seconds'),
    limitMs: readCount('limit') * 1_000,
    lines: values.lines === '0' ? 0 : readCount('lines'),
    throughTriggers: readCount('through-triggers'),
  }
}

function parseCount(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError(`--${name}: "${text}" is not a whole number from 1 to 999999999.`)
  return Number(text)
}

async function measure(run: Run): Promise<void> {
  const generated = await measureColdForEachCount(run)
  const quotes = run.counts.at(-1) ?? 0
  const onCopy = async (name: Measurement, report: (copy: BenchDatabase) => Promise<void>) => {
    if (!run.selected.has(name)) return
    const copy = await run.databases.create(generated)
    await report(copy)
    await run.databases.drop(copy)
  }
  const { writes, pace, rounds } = run
  await onCopy('bulk', (copy) => reportBulk(copy, quotes))
  for (const target of ['all', 'month'] as const)
    await onCopy('snapshot', (copy) => reportSnapshot(copy, { quotes, writes, pace, target }))
  await onCopy('writes', (copy) => reportSingleWrites(copy, { quotes, rounds }))
  await onCopy('polls', (copy) => reportPollsAfterBulk(copy, quotes))
  await onCopy('polls', (copy) => reportPollsBesideSnapshot(copy, { writes, pace }))
  await onCopy('triggers', (copy) => reportBulkInsert(copy, rounds))
  await onCopy('warm', (copy) => reportWarm({ ...run, database: copy }))
}

/** Returns the database with the last number of quotes. */
async function measureColdForEachCount(run: Run): Promise<BenchDatabase | undefined> {
  let generated: BenchDatabase | undefined
  const p95s = new Map<number, number>()
  for (const count of run.selected.has('cold') ? run.counts : run.counts.slice(-1)) {
    if (generated) await run.databases.drop(generated)
    generated = await createGeneratedDatabase(run.databases, count, run)
    if (run.selected.has('cold'))
      p95s.set(count, await reportCold(generated, count, p95s.get(1_000_000)))
    else await waitForAutovacuum(generated)
  }
  return generated
}

type Started = Pick<Run, 'directory' | 'children'> & {
  starting: Promise<TestServers>
  databases: BenchDatabases | undefined
}

/** Stops what was started and removes all data, also if a part of that fails. */
async function stopAll({ directory, children, starting, databases }: Started): Promise<void> {
  for (const child of children) child.kill('SIGKILL')
  // Databases are dropped for a server that was not started here.
  const failures = [
    ...(await Promise.allSettled([databases?.dropAll()])),
    ...(await Promise.allSettled([
      starting.then(
        (servers) => servers.stop(),
        // The caller reports why the servers did not start.
        () => undefined,
      ),
    ])),
    ...(await Promise.allSettled([rm(directory, { recursive: true, force: true })])),
  ]
  for (const failure of failures)
    if (failure.status === 'rejected') console.error(describeError(failure.reason))
}
