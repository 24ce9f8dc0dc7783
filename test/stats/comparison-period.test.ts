// The comparison period: whole months with whole months, days with days, none after today. The
// examples define the rule. test/stats/reference-stats.ts does not repeat it.
import fc from 'fast-check'
import t from 'tap'
import { countDays } from '../../src/company/calendar.ts'
import { chooseComparisonPeriod } from '../../src/stats/comparison-period.ts'
import { dayAfter } from './reference-stats.ts'

const today = '2026-11-21'

/** Each has a period, the period and the year before it, and another day than `today`. */
const examples: [string, { period?: string; year?: string; today?: string }][] = [
  // Whole months.
  ['2026-03-01 2026-03-31', { period: '2026-02-01 2026-02-28', year: '2025-03-01 2025-03-31' }],
  ['2024-03-01 2024-03-31', { period: '2024-02-01 2024-02-29' }],
  ['2026-01-01 2026-03-31', { period: '2025-10-01 2025-12-31' }],
  ['2026-02-01 2026-02-28', { period: '2026-01-01 2026-01-31' }],
  ['2025-01-01 2025-12-31', { period: '2024-01-01 2024-12-31' }],
  ['2025-02-01 2025-02-28', { year: '2024-02-01 2024-02-29' }],
  ['2024-02-01 2024-02-29', { year: '2023-02-01 2023-02-28' }],
  ['2025-01-01 2025-02-28', { year: '2024-01-01 2024-02-29' }],
  // Other periods: as many days, or the same dates.
  ['2026-03-02 2026-03-31', { period: '2026-01-31 2026-03-01', year: '2025-03-02 2025-03-31' }],
  ['2024-02-29 2024-02-29', { year: '2023-02-28 2023-02-28' }],
  // From the first of a month that is over.
  ['2026-03-01 2026-03-15', { period: '2026-02-14 2026-02-28' }],
  // A period that ends after today, or today: the same days.
  ['2026-11-01 2026-11-30', { period: '2026-10-01 2026-10-21', year: '2025-11-01 2025-11-21' }],
  ['2026-11-01 2026-11-21', { period: '2026-10-01 2026-10-21' }],
  ['2026-11-01 2026-11-25', { period: '2026-10-01 2026-10-21' }],
  ['2026-11-01 2026-11-15', { period: '2026-10-01 2026-10-15' }],
  ['2026-10-01 2026-12-31', { period: '2026-07-01 2026-08-21' }],
  // 10 of 20 days have passed.
  ['2026-11-12 2026-12-01', { period: '2026-10-23 2026-11-01' }],
  // The last day of the month completes it.
  ['2026-11-01 2026-11-30', { period: '2026-10-01 2026-10-31', today: '2026-11-30' }],
  // February has no 30th.
  ['2026-03-01 2026-03-31', { period: '2026-02-01 2026-02-28', today: '2026-03-30' }],
  // A period that has not begun is compared as a whole.
  ['2027-01-01 2027-01-31', { period: '2026-12-01 2026-12-31' }],
  // A misdated quote makes the period longer than the calendar before it.
  ['0901-01-01 2026-10-31', { period: '0001-01-01 0900-12-31' }],
]

type Compare = 'previous_period' | 'previous_year'

function boundsBefore(bounds: string, compare: Compare, day = today): string {
  const [from = '', to = ''] = bounds.split(' ')
  const period = { from, to, timeZone: 'Europe/Madrid', date: 'issued' as const }
  const before = chooseComparisonPeriod(period, compare, day)
  return `${before.from} ${before.to}`
}

t.test('the comparison period is that of the examples', async (t) => {
  for (const [bounds, { period, year, today }] of examples) {
    if (period) t.equal(boundsBefore(bounds, 'previous_period', today), period, bounds)
    if (year) t.equal(boundsBefore(bounds, 'previous_year', today), year, bounds)
  }
})

t.test('any comparison period precedes the period and is not longer', async (t) => {
  const day = fc.integer({ min: 0, max: 2_600 }).map((days) => dayAfter('2023-01-01', days))
  const anyEnds = fc.tuple(day, day).map(([a, b]): [string, string] => (a < b ? [a, b] : [b, a]))
  const fromMonthStart = anyEnds.map(([from, to]): [string, string] => [
    `${from.slice(0, 8)}01`,
    to,
  ])
  const isBefore = fc.property(fc.oneof(anyEnds, fromMonthStart), day, ([from, to], today) => {
    const before = boundsBefore(`${from} ${to}`, 'previous_period', today)
    const [first = '', last = ''] = before.split(' ')
    const isShortened = from <= today && today < to
    const isByDays = !from.endsWith('-01')
    const [days, daysBefore] = [countDays(from, to), countDays(first, last)]
    return (
      first <= last &&
      last < from &&
      (!isByDays || first === dayAfter(from, -days - 1)) &&
      (!isByDays || isShortened || daysBefore === days)
    )
  })
  t.doesNotThrow(() => fc.assert(isBefore, { numRuns: 2_000 }))
})
