// Starts services for the tests of /api/stats, and requests their statistics.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/database/postgres-pool.ts'
import { maxAgeMs } from '../../src/stats/cache/stats-cache.ts'
import { readStats } from '../../src/stats/read-stats.ts'
import type { Stats, StatsRequest, StatsWithoutAsOf } from '../../src/stats/schema.ts'
import { foldStatistics } from '../../src/stats/summary/fold-statistics.ts'
import { company } from '../support/database/company.ts'
import { hasLocalToday, setLocalToday } from '../support/database/local-today.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { type FaultyProxy, startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../support/service/test-service.ts'
import { insertUnfoldedQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import type { ExpectedQuery } from './reference-stats.ts'

type Test = Parameters<typeof testService>[0]
type ServiceOptions = Parameters<typeof testService>[1]

/** Always the same day, so that no test depends on the date or fails at midnight. */
export const today = '2026-11-21'

/** Starts a service without a search index, because statistics do not need one. */
export async function statsService(t: Test, options: ServiceOptions = {}): Promise<TestService> {
  const database = options.database ?? (await testDatabase(t))
  if (!(await hasLocalToday(database.db))) await setLocalToday(database.db, today)
  const clock = () => new Date(`${today}T10:00:00Z`)
  return testService(t, { index: false, clock, ...options, database })
}

/** A second API process, simulated: it shares the database and the Redis prefix of `service`. */
export function secondInstance(
  t: Test,
  service: TestService,
  options: ServiceOptions = {},
): Promise<TestService> {
  const { REDIS_PREFIX } = service.config
  const config = { REDIS_PREFIX, ...options.config }
  return statsService(t, { ...options, database: service, config })
}

/** A service whose PostgreSQL is behind a faulty proxy. `db` connects directly. */
export async function serviceBehindFaultyProxy(
  t: Test,
  options: ServiceOptions = {},
): Promise<TestService & { faultyProxy: FaultyProxy }> {
  const database = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, database.roles.api)
  const service = await statsService(t, { ...options, database, apiUrl: faultyProxy.url })
  // Before the service stops, which would wait for a PostgreSQL that hangs.
  t.teardown(() => faultyProxy.close())
  return { ...service, faultyProxy }
}

/**
 * Returns the number of quotes as `total`, the header as `cacheStatus`, the header in seconds as
 * `age`, and the instant of the body in milliseconds as `asOf`.
 */
export async function requestStats({ app }: Pick<TestService, 'app'>, query = '', headers = {}) {
  const sentAt = Date.now()
  const response = await app.inject({ url: `/api/stats${query}`, headers })
  const stats = response.statusCode === 200 ? response.json<Stats>() : null
  return {
    status: response.statusCode,
    total: stats?.quotes.total ?? null,
    cacheStatus: String(response.headers['cache-status']),
    age: Number(response.headers.age),
    asOf: Date.parse(stats?.asOf ?? ''),
    sentAt,
    response,
  }
}

/** Repeats the request until the result has these properties, and returns the last result. */
export const statsUntil = (
  service: Pick<TestService, 'app'>,
  check: (result: Awaited<ReturnType<typeof requestStats>>) => boolean,
  query = '',
  headers = {},
) => eventually(() => requestStats(service, query, headers), check)

/** The statistics that the summary has, without a cache. */
export async function statsOf(
  db: Database,
  { bounds = null, date = 'issued', ...others }: Partial<ExpectedQuery> = {},
): Promise<StatsWithoutAsOf> {
  const range = bounds ? { from: bounds[0], to: bounds[1] } : {}
  const request = { date, ...others, ...range } as StatsRequest
  return (await readStats(db, company, request)).stats
}

/** Folds, and returns the statistics. */
export async function foldedStats(db: Database, query: Partial<ExpectedQuery> = {}) {
  await foldStatistics(db)
  return statsOf(db, query)
}

/** The query string of a request, with `?`. */
export function queryString({ bounds, ...others }: Partial<ExpectedQuery>): string {
  const parameters = { ...others, ...(bounds && { from: bounds[0], to: bounds[1] }) }
  return `?${new URLSearchParams(parameters as Record<string, string>)}`
}

/**
 * Writes quotes to an empty database while it requests the statistics of every service, for at
 * least `durationMs`. Returns a text for each response that is not a committed state of the last
 * two seconds although it is not marked stale. If all are marked stale, the text says so.
 */
export async function findWrongResponses(
  db: Database,
  services: TestService[],
  durationMs = 4_000,
): Promise<string[]> {
  // The server is not ready before the first fold either.
  for (const service of services) await statsUntil(service, ({ status }) => status === 200)
  const startedCommits: number[] = []
  const finishedCommits: number[] = []
  let responses = 0
  let staleResponses = 0
  const end = performance.now() + durationMs
  // On a busy machine the time is too short for enough responses.
  const isRunning = () => performance.now() < end || responses <= 20 || finishedCommits.length <= 20
  const write = async () => {
    while (isRunning()) {
      startedCommits.push(performance.now())
      await insertUnfoldedQuotes(db, [buildQuote(`W${startedCommits.length}`, {})])
      finishedCommits.push(performance.now())
      await sleep(10)
    }
  }
  const wrongResponses: string[] = []
  const read = async (service: TestService) => {
    while (isRunning()) {
      const sentAt = performance.now()
      const { total, cacheStatus } = await requestStats(service)
      const least = finishedCommits.filter((time) => time < sentAt - maxAgeMs).length
      const most = startedCommits.length
      const isStale = cacheStatus.includes('stale')
      responses += 1
      if (isStale) staleResponses += 1
      if (total === null || total > most || (total < least && !isStale))
        wrongResponses.push(`${least} <= ${total} <= ${most}: ${cacheStatus}`)
      await sleep(5)
    }
  }
  await Promise.all([write(), ...services.map(read)])
  return staleResponses < responses ? wrongResponses : ['every response is marked stale']
}
