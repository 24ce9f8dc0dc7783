// The stats workload: quotes are written, days pass, and every response must show the statistics of
// a committed state that is no older than the response says.
import type { Stats, StatsWithoutAsOf } from '../../../src/stats/schema.ts'
import type { Quote } from '../../stats/quote-builder.ts'
import { type ExpectedQuery, isExpected } from '../../stats/reference-stats.ts'
import { absent, type CommittedStates } from '../committed-states.ts'
import type { Clock } from '../fast-clock.ts'
import { day, drawQuoteChanges } from './quote-changes.ts'
import type { QuoteRow } from './quote-rows.ts'
import { type ApiResponse, formatInstant, unexcusedFailure, type Workload } from './workload.ts'

/** A committed change must show within this time. */
const maxAgeMs = 2_000
/** Checks at most this many states for a response. Only many uncertain commits make more. */
const maxCheckedStates = 5_000

export function statsWorkload(): Workload {
  /** The last ETag of each path, for conditional requests. */
  const etags = new Map<string, string>()
  const isExpectedFor = cacheResults((state, body, query) =>
    isExpected(body, quotesOf(state), query),
  )

  return {
    requestIntervalMs: 50,
    drawChanges: drawQuoteChanges,

    async clear(client) {
      await client.query('truncate quotes cascade')
    },

    nextRequest(random, clock) {
      const path = `/api/stats${random.pick(queryStrings)(clock)}`
      const etag = etags.get(path)
      return {
        path,
        headers: etag !== undefined && random.chance(0.5) ? { 'if-none-match': etag } : {},
      }
    },

    checkResponse(response, context) {
      if (response.status === null || response.status === 503) {
        const reason = unexcusedFailure(response, context)
        if (reason === null && response.status === 503 && context.hasAnsweredBefore(response))
          return '503, although the process had cached statistics'
        return reason
      }
      if (response.status !== 200 && response.status !== 304)
        return `status ${response.status}: ${response.body}`
      if (response.headers.etag) etags.set(response.path, response.headers.etag)
      const ageSeconds = Number(response.headers.age)
      const isStale = /fwd=stale/.test(response.headers['cache-status'] ?? '')
      if (!isStale && !((ageSeconds + 1) * 1_000 <= maxAgeMs))
        return `is ${ageSeconds} s old but not marked stale: ${response.headers['cache-status']}`
      // Age is in whole seconds, rounded down.
      const from = response.sentAt - (ageSeconds + 1) * 1_000
      if (from < context.startedAt) return null
      const { asOf } = parseBody(response.body)
      if (response.status === 200 && !(asOf >= from - 1_000 && asOf <= response.endedAt))
        return `asOf ${formatInstant(asOf)} is later than now, or earlier than Age allows`
      const days = context.clock.days(from, response.endedAt)
      const { states } = context
      return findMismatch(response, { states, from: Math.max(from, asOf), days })
    },

    finalRequests: () => [
      { path: '/api/stats' },
      { path: '/api/stats?date=accepted' },
      { path: '/api/stats?compare=previous_year' },
    ],

    checkFinalResponse(response, { states, clock }) {
      if (response.status !== 200) return `status ${response.status}`
      const days = clock.days(response.sentAt - maxAgeMs, response.endedAt)
      return findMismatch(response, { states, from: response.sentAt, days })
    },
  }

  function findMismatch(
    { path, body, endedAt, headers }: ApiResponse,
    { states, from, days }: { states: CommittedStates; from: number; days: string[] },
  ): string | null {
    const { stats, text } = parseBody(body)
    let checked = 0
    for (const { name, values } of states.possibleStates('quote ', from, endedAt)) {
      for (const today of days) {
        const key = `${path} ${today} ${name}`
        if (isExpectedFor(key, values, stats, text, toExpectedQuery(path, today))) return null
      }
      checked++
      if (checked === maxCheckedStates) return null
    }
    const { total, byStatus } = stats.quotes
    return (
      `${total} quotes (${JSON.stringify(byStatus)}), revenue ${stats.revenue.total.amount}, ` +
      `match none of ${checked} states between ${formatInstant(from)} and ` +
      `${formatInstant(endedAt)} ` +
      `(${headers['cache-status']}; age ${headers.age}; ${days.join(' or ')})`
    )
  }
}

/** `asOf` in milliseconds since 1970; `text` is the body without it. */
function parseBody(body: string): { stats: StatsWithoutAsOf; text: string; asOf: number } {
  const { asOf, ...stats } = JSON.parse(body) as Stats
  return { stats, text: JSON.stringify(stats), asOf: Date.parse(asOf) }
}

/** Caches results by body and key: consecutive responses are mostly equal. */
function cacheResults(
  compute: (state: Map<string, string>, body: StatsWithoutAsOf, query: ExpectedQuery) => boolean,
) {
  const resultsByBody = new Map<string, Map<string, boolean>>()
  return (
    key: string,
    state: Map<string, string>,
    stats: StatsWithoutAsOf,
    body: string,
    query: ExpectedQuery,
  ): boolean => {
    const results = resultsByBody.get(body) ?? new Map<string, boolean>()
    resultsByBody.set(body, results)
    const cached = results.get(key)
    if (cached !== undefined) return cached
    const result = compute(state, stats, query)
    results.set(key, result)
    return result
  }
}

function quotesOf(state: Map<string, string>): Quote[] {
  return [...state.values()]
    .filter((value) => value !== absent)
    .map((value) => JSON.parse(value) as QuoteRow)
}

const queryStrings: [(clock: Clock) => string, ...((clock: Clock) => string)[]] = [
  () => '',
  () => '?date=accepted',
  () => '?country=ES',
  () => '?country=unknown&date=accepted',
  () => '?currency=USD&compare=previous_year',
  () => '?compare=previous_year',
  (clock) => `?from=${day(clock, -40)}&to=${day(clock, 2)}`,
  (clock) => `?from=${day(clock, -20)}&to=${day(clock, 0)}&compare=previous_period&country=ES`,
  (clock) => `?from=${day(clock, -65)}&to=${day(clock, -3)}&date=accepted&compare=previous_period`,
]

function toExpectedQuery(path: string, today: string): ExpectedQuery {
  const parameters = new URL(path, 'http://localhost').searchParams
  const [from, to] = [parameters.get('from'), parameters.get('to')]
  return {
    today,
    date: parameters.get('date') === 'accepted' ? 'accepted' : 'issued',
    country: parameters.get('country') ?? undefined,
    currency: parameters.get('currency') ?? undefined,
    bounds: from !== null && to !== null ? [from, to] : null,
    compare: (parameters.get('compare') ?? undefined) as ExpectedQuery['compare'],
  }
}
