// Figures as a subject of histories: quotes come, change and go, days pass, and every answer must be the figures of a committed state, as old as it says.
import {
  isExpected,
  type Quote,
  type Stats,
  type Question as Wanted,
} from '../stats/independent-model.ts'
import type { Clock } from './clock.ts'
import { absent, type Model } from './model.ts'
import { day, drawQuoteChanges } from './quote-changes.ts'
import type { QuoteRow } from './quotes.ts'
import { type Answer, instant, type Subject, unexcused } from './subject.ts'

/** A committed change shows within this time. */
const boundMs = 2_000
/** So many states of one answer are tried; only a heap of commits in doubt would make more. */
const triedStates = 5_000

export function statsSubject(): Subject {
  /** What was answered last to each question, to be asked for again under its ETag. */
  const tags = new Map<string, string>()
  const isRight = remembering((state: Map<string, string>, body: Stats, wanted: Wanted) =>
    isExpected(body, quotesOf(state), wanted),
  )

  return {
    name: 'stats',
    askEveryMs: 50,
    draw: drawQuoteChanges,

    async clear(client) {
      await client.query('truncate quotes cascade')
    },

    question(random, clock) {
      const path = `/api/stats${random.pick(questions)(clock)}`
      const tag = tags.get(path)
      return {
        path,
        headers: tag !== undefined && random.chance(0.5) ? { 'if-none-match': tag } : {},
      }
    },

    kind: ({ status, headers }) =>
      (headers['cache-status'] ?? '').replace('stats; ', '').replace(/; detail.*/, '') ||
      String(status),

    judge(answer, scene) {
      if (answer.status === null || answer.status === 503) {
        const reason = unexcused(answer, scene)
        if (reason === null && answer.status === 503 && scene.answeredBefore(answer))
          return '503, though it had figures to give'
        return reason
      }
      if (answer.status !== 200 && answer.status !== 304)
        return `status ${answer.status}: ${answer.body}`
      if (answer.headers.etag) tags.set(answer.path, answer.headers.etag)
      const age = Number(answer.headers.age)
      const isStale = /fwd=stale/.test(answer.headers['cache-status'] ?? '')
      if (!isStale && !((age + 1) * 1_000 <= boundMs))
        return `is ${age} s old and does not say stale: ${answer.headers['cache-status']}`
      // Age is in whole seconds, cut.
      const from = answer.sentAt - (age + 1) * 1_000
      if (from < scene.startedAt) return null
      const days = scene.clock.days(isStale ? from : answer.sentAt, answer.endedAt)
      return disagreement(answer, { model: scene.model, from, days })
    },

    finalQuestions: () => [
      { path: '/api/stats' },
      { path: '/api/stats?date=accepted' },
      { path: '/api/stats?compare=previous_year' },
    ],

    judgeFinal(answer, { model, clock }) {
      if (answer.status !== 200) return `status ${answer.status}`
      const days = clock.days(answer.sentAt, answer.endedAt)
      return disagreement(answer, { model, from: answer.sentAt, days })
    },
  }

  function disagreement(
    { path, body, endedAt, headers }: Answer,
    { model, from, days }: { model: Model; from: number; days: string[] },
  ) {
    const figures = JSON.parse(body) as Stats
    let tried = 0
    for (const { name, values } of model.states('quote ', from, endedAt)) {
      for (const today of days)
        if (isRight(`${path} ${today} ${name}`, values, figures, body, wantedOf(path, today)))
          return null
      tried++
      if (tried === triedStates) return null
    }
    const { total, byStatus } = figures.quotes
    return `${total} quotes (${JSON.stringify(byStatus)}), ${figures.revenue.total.amount}, which was so in none of ${tried} states between ${instant(from)} and ${instant(endedAt)} (${headers['cache-status']}; age ${headers.age}; ${days.join(' or ')})`
  }
}

/** Neither question nor state change often from one answer to the next. */
function remembering(
  compute: (state: Map<string, string>, body: Stats, wanted: Wanted) => boolean,
) {
  const known = new Map<string, Map<string, boolean>>()
  return (
    name: string,
    state: Map<string, string>,
    figures: Stats,
    body: string,
    wanted: Wanted,
  ): boolean => {
    const own = known.get(body) ?? new Map<string, boolean>()
    known.set(body, own)
    const before = own.get(name)
    if (before !== undefined) return before
    const result = compute(state, figures, wanted)
    own.set(name, result)
    return result
  }
}

function quotesOf(state: Map<string, string>): Quote[] {
  return [...state.values()]
    .filter((value) => value !== absent)
    .map((value) => JSON.parse(value) as QuoteRow)
}

const questions: [(clock: Clock) => string, ...((clock: Clock) => string)[]] = [
  () => '',
  () => '?date=accepted',
  () => '?country=ES',
  () => '?country=unknown&date=accepted',
  () => '?compare=previous_year',
  (clock) => `?from=${day(clock, -40)}&to=${day(clock, 2)}`,
  (clock) => `?from=${day(clock, -20)}&to=${day(clock, 0)}&compare=previous_period&country=ES`,
  (clock) => `?from=${day(clock, -65)}&to=${day(clock, -3)}&date=accepted&compare=previous_period`,
]

function wantedOf(path: string, today: string): Wanted {
  const given = new URL(path, 'http://localhost').searchParams
  const [from, to] = [given.get('from'), given.get('to')]
  return {
    today,
    date: given.get('date') ?? 'issued',
    country: given.get('country') ?? undefined,
    bounds: from !== null && to !== null ? [from, to] : null,
    compare: (given.get('compare') ?? undefined) as Wanted['compare'],
  }
}
