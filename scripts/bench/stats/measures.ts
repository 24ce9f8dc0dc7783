// What is measured in every state of the summary: the statistics without a cache, a reading of the
// state of the summary, and a fold that finds nothing.
import { sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { readStats } from '../../../src/stats/read-stats.ts'
import type { StatsRequest } from '../../../src/stats/schema.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { lastDay } from '../support/data/generated-quotes.ts'
import { median, quantile } from '../support/load/quantile.ts'
import { mainThreadMicroseconds } from '../support/processes/cpu-time.ts'
import { company } from './generated-database.ts'

/** One of the forty countries of the generated quotes. */
const country = 'BR'

/** The queries of a dashboard. */
export const questions = {
  everything: {},
  'this year': { from: '2026-01-01' },
  'partial months': { from: '2022-02-15', to: '2026-10-20' },
  'one country': { country },
  'by decision': { date: 'accepted' },
  comparison: { from: '2026-01-01', to: lastDay, compare: 'previous_year' },
} as const

/** The customers and products with the highest revenue, of all quotes and of parts of months. */
export const breakdownQuestions = {
  customers: { by: 'customer' },
  'customers, partial months': { by: 'customer', from: '2022-02-15', to: '2026-10-20' },
  products: { by: 'product' },
  'products, partial months': { by: 'product', from: '2022-02-15', to: '2026-10-20' },
  'products, one country': { by: 'product', country },
} as const

/** Each question is measured this often, unless a bench says otherwise. */
const coldRounds = 20
const pollRounds = 200
const foldRounds = 20

/** What takes longer than this in total is not repeated: the measurement must end. */
const budgetMs = 2_000

/**
 * Elapsed times, and the mean processor time of PostgreSQL, all in ms. Infinity means that
 * PostgreSQL cancelled the statement at the limit.
 */
export type Timing = { medianMs: number; p95Ms: number; processorMs: number }

/** `byQuestion`: the median of each question in ms. */
export type ColdTiming = Timing & { byQuestion: Record<string, number> }

/** Measures the statistics without a cache. */
export async function measureCold(
  db: Database,
  rounds = coldRounds,
  asked: Record<string, Partial<StatsRequest>> = questions,
): Promise<ColdTiming> {
  const actions = Object.values(asked).map(
    (question) => () => readStats(db, company, { date: 'issued', ...question }),
  )
  const { medians, ...timing } = await measureInTurn(db, actions, rounds)
  const names = Object.keys(asked)
  return {
    ...timing,
    byQuestion: Object.fromEntries(names.map((name, n) => [name, medians[n] ?? Number.NaN])),
  }
}

/**
 * Measures one reading of the state of the summary, which running API processes repeat all the
 * time.
 */
export async function measurePoll(db: Database): Promise<Timing> {
  return measureInTurn(db, [() => readSummaryState(db)], pollRounds)
}

/** Folds everything first. Other folding must be stopped, or an empty fold may only find a lock. */
export async function measureEmptyFold(db: Database): Promise<Timing> {
  await foldStatistics(db)
  return measureInTurn(db, [() => foldStatistics(db)], foldRounds)
}

/** Returns the process id of the backend. It stays the same while statements follow each other. */
export async function readBackendPid(db: Database): Promise<number> {
  const { pid } = await db
    .selectNoFrom(sql<number>`pg_backend_pid()`.as('pid'))
    .executeTakeFirstOrThrow()
  return pid
}

/** Runs the action and returns how long it took in ms, or Infinity if PostgreSQL cancelled it. */
export async function elapsedMs(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  try {
    await action()
  } catch (error) {
    if ((error as { code?: unknown }).code === queryCanceled) return Number.POSITIVE_INFINITY
    throw error
  }
  return performance.now() - startedAt
}

/** PostgreSQL's code for a statement that ran into the limit. */
const queryCanceled = '57014'

type Sample = { ms: number; processorMs: number }

/**
 * Runs the actions in turn, once to fill the buffers and then up to `rounds` times. The first run
 * of a slow action is its only one. All actions have the same weight in the result.
 */
async function measureInTurn(
  db: Database,
  actions: (() => Promise<unknown>)[],
  rounds: number,
): Promise<Timing & { medians: number[] }> {
  const backend = await readBackendPid(db)
  let processor = mainThreadMicroseconds(backend)
  const take = async (action: () => Promise<unknown>): Promise<Sample> => {
    const ms = await elapsedMs(action)
    const before = processor
    processor = mainThreadMicroseconds(backend)
    return { ms, processorMs: (processor - before) / 1_000 }
  }
  const samples: Sample[][] = []
  for (const action of actions) {
    const first = await take(action)
    samples.push(first.ms > budgetMs ? [first] : [])
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [n, action] of actions.entries()) {
      const taken = samples[n] ?? []
      if (sum(taken.map(({ ms }) => ms)) < budgetMs) taken.push(await take(action))
    }
  }
  const weighted = samples.flatMap((taken) =>
    Array.from({ length: rounds }, (_, n) => taken[n % taken.length] as Sample),
  )
  const latencies = weighted.map(({ ms }) => ms)
  return {
    medianMs: median(latencies),
    p95Ms: quantile(latencies, 0.95),
    processorMs: sum(weighted.map(({ processorMs }) => processorMs)) / weighted.length,
    medians: samples.map((taken) => median(taken.map(({ ms }) => ms))),
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
