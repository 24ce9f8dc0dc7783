// Measures statistics: computed without a cache, answered from the cache, and what folding and the
// triggers of the summary cost.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { readCompany } from '../../src/company/company-file.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { openPool } from '../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../src/database/prepared-statements.ts'
import { readStats } from '../../src/stats/read-stats.ts'
import type { StatsRequest } from '../../src/stats/schema.ts'
import { foldStatistics } from '../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../src/stats/summary/summary-state.ts'
import {
  generateQuotes,
  insertGeneratedQuotes,
  lastDay,
  setSummaryTriggers,
} from './data/generated-quotes.ts'
import {
  type Bench,
  companyFile,
  compare,
  createDatabase,
  createService,
  elapsedMs,
  measureTimes,
  median,
  quantile,
  reportRatio,
  startApi,
  startBaseline,
} from './harness.ts'

/** One of the forty countries of the generated quotes. */
const country = 'BR'

/** The queries of a dashboard. */
const questions: Partial<StatsRequest>[] = [
  {},
  { from: '2026-01-01' },
  { from: '2022-02-15', to: '2026-10-20' },
  { country },
  { date: 'accepted' },
  { from: '2026-01-01', to: lastDay, compare: 'previous_year' },
]

/** The customers and products with the highest revenue: of all time, a year, a month, and parts. */
const breakdowns = (['customer', 'product'] as const).flatMap((by): Partial<StatsRequest>[] => [
  { by },
  { by, country },
  { by, from: '2025-01-01', to: '2025-12-31' },
  { by, from: '2026-10-01', to: '2026-10-31' },
  { by, from: '2022-02-15', to: '2026-10-20' },
  { by, from: '2022-02-15', to: '2026-10-20', country, date: 'accepted' },
])

export async function measure(bench: Bench): Promise<void> {
  const quotes = bench.size(1_000_000, 2_000)
  const tenth = await createDatabase(bench, 'stats_tenth')
  await generateQuotes(tenth.db, quotes / 10)
  const service = await createService(bench, 'stats')
  await generateQuotes(service.db, quotes)
  const { db } = service

  const tenthMs = await measureCold(bench, tenth.databaseUrl, questions)
  const coldMs = await measureCold(bench, service.databaseUrl, questions)
  const plainMs = await elapsedMs(() => readPlainStats(db))
  bench.report({
    what: 'computed without a cache, p95',
    value: coldMs,
    unit: 'ms',
    bar: { atMost: 25 },
    detail: `plain aggregates over the quotes take ${(plainMs / coldMs).toFixed(0)} times as long`,
  })
  bench.report({
    what: 'the same, of the p95 at a tenth of the quotes',
    value: coldMs / tenthMs,
    unit: '×',
    bar: { atMost: 1.5 },
  })
  bench.report({
    what: 'by customer and by product, p95',
    value: await measureCold(bench, service.databaseUrl, breakdowns),
    unit: 'ms',
    bar: { atMost: 1_000 },
  })
  await measureFolding(bench, db, quotes)
  await measureTriggers(bench, db, quotes)
  await measureWarm(bench, service)
}

/** Returns the p95 of the questions asked in turn, on one connection as the API has them, in ms. */
async function measureCold(
  bench: Bench,
  url: string,
  asked: Partial<StatsRequest>[],
): Promise<number> {
  const db = createPreparingKysely(openPool(url, { connections: 1 }))
  const company = readCompany(companyFile)
  const times: number[] = []
  for (let round = 0; round <= bench.size(20, 2); round += 1)
    for (const question of asked) {
      const ms = await elapsedMs(() => readStats(db, company, { date: 'issued', ...question }))
      // The first round fills the buffers.
      if (round > 0) times.push(ms)
    }
  await db.destroy()
  return quantile(times, 0.95)
}

/** What a service without a summary would have to compute: the same groups from the quotes. */
function readPlainStats(db: Database): Promise<unknown> {
  const baseNet = sql`case when currency = 'EUR' then net else round(net * rate, 2) end`
  return sql`
    select date_trunc('month', issued_on) as month, country, currency, status, count(*),
      sum(${baseNet}), sum(net) filter (where status = 'accepted')
    from quotes where status <> 'superseded'
    group by grouping sets ((), (date_trunc('month', issued_on)), (country), (currency), (status))
  `.execute(db)
}

/** Reports what running API processes do all the time: reading the state, and folding changes. */
async function measureFolding(bench: Bench, db: Database, quotes: number): Promise<void> {
  const rounds = bench.size(50, 3)
  const [emptyMs, pollMs, oneMs, manyMs]: number[][] = [[], [], [], []]
  const change = (count: number, round: number) =>
    sql`
      update quotes set net = net + 1, gross = gross + 1
      where number in (select 'B' || 1 + (n * 7919 + ${round}) % ${quotes}
        from generate_series(1, ${count}::integer) n)
    `.execute(db)
  for (let round = 0; round < rounds; round += 1) {
    emptyMs?.push(await elapsedMs(() => sql`select 1`.execute(db)))
    pollMs?.push(await elapsedMs(() => readSummaryState(db)))
    await change(1, round)
    oneMs?.push(await elapsedMs(() => foldStatistics(db)))
    await change(100, round)
    manyMs?.push(await elapsedMs(() => foldStatistics(db)))
  }
  for (const [what, times, atMost] of [
    ['reading the state of the summary', pollMs, 0.3],
    ['folding one changed quote', oneMs, 5],
    ['folding 100 changed quotes of six years', manyMs, 60],
  ] as const)
    bench.report({
      what: `${what}, p50, beyond that of a query which reads nothing`,
      value: median(times ?? []) - median(emptyMs ?? []),
      unit: 'ms',
      bar: { atMost },
    })
}

/** Reports what the triggers of the summary cost a bulk insert, which is rolled back. */
async function measureTriggers(bench: Bench, db: Database, quotes: number): Promise<void> {
  const inserted = bench.size(50_000, 500)
  const rates = { enable: [] as number[], disable: [] as number[] }
  for (let round = 0; round < bench.size(5, 1); round += 1)
    for (const state of ['enable', 'disable'] as const) {
      await setSummaryTriggers(db, state)
      const transaction = await db.startTransaction().execute()
      const ms = await elapsedMs(() => insertGeneratedQuotes(transaction, inserted, quotes))
      await transaction.rollback().execute()
      rates[state].push(inserted / (ms / 1_000))
    }
  await setSummaryTriggers(db, 'enable')
  const [withTriggers, without] = [median(rates.enable), median(rates.disable)]
  reportRatio(bench, 'quotes inserted, of those without triggers', [withTriggers, without], {
    atLeast: 0.8,
  })
}

/** Reports requests a second from the cache, next to a route that sends the same bytes. */
async function measureWarm(
  bench: Bench,
  service: Awaited<ReturnType<typeof createService>>,
): Promise<void> {
  const api = await startApi(bench, 'stats', service)
  const limited = await createApiKey(service.db, {
    kind: 'secret',
    name: 'bench, limited',
    scopes: ['stats:read'],
  })
  const file = join(bench.directory, 'stats.json')
  const answer = await fetch(`${api.url}/api/stats`, { headers: service.headers })
  await writeFile(file, Buffer.from(await answer.arrayBuffer()))
  const bytes = await startBaseline(bench, 'bytes', file)
  const ask = (path: string, headers = service.headers) => ({
    url: api.url,
    requests: [{ path, headers }],
  })
  const rates = await compare(
    {
      bytes: { url: bytes.url, requests: [{ path: '/' }] },
      unlimited: ask('/api/stats'),
      limited: ask('/api/stats', { authorization: `Bearer ${limited}` }),
    },
    bench.size(5, 1),
    { connections: 20, seconds: bench.size(4, 1) },
  )
  reportRatio(
    bench,
    'cached, of a route that only sends the bytes',
    [rates.unlimited, rates.bytes],
    {
      atLeast: 0.5,
    },
  )
  reportRatio(bench, 'the same for a key with a rate limit', [rates.limited, rates.bytes], {
    atLeast: 0.4,
  })
  const count = bench.size(500, 40)
  const firstDay = Date.UTC(2021, 0, 1)
  const day = (n: number) => new Date(firstDay + n * 86_400_000).toISOString().slice(0, 10)
  const repeat = <Item>(make: (n: number) => Item) =>
    Array.from({ length: count }, (_, n) => make(n))
  await measureTimes(bench, 'naked Fastify route, the bytes of a statistic', {
    url: bytes.url,
    requests: repeat(() => ({ path: '/' })),
  })
  await measureTimes(bench, 'statistics, not cached: another period each time', {
    url: api.url,
    requests: repeat(
      (n) => ask(`/api/stats?from=${day(n)}&to=${lastDay}`).requests[0] ?? { path: '' },
    ),
  })
  await measureTimes(bench, 'statistics, cached', {
    url: api.url,
    requests: repeat(() => ({ path: '/api/stats', headers: service.headers })),
  })
}
