// The comparison period: whole months with whole months, days with days, none after today. The
// examples define the rule. test/stats/reference-stats.ts does not repeat it.
import fc from 'fast-check'
import t from 'tap'
import { countDays } from '../../src/company/calendar.ts'
import { chooseComparisonPeriod } from '../../src/stats/comparison-period.ts'
import { dayAfter } from './reference-stats.ts'

type Compare = 'previous_period' | 'previous_year'

function boundsBefore(
  bounds: readonly [string, string],
  compare: Compare,
  today = '2026-11-21',
): string {
  const [from, to] = bounds
  const period = { from, to, timeZone: 'Europe/Madrid', date: 'issued' as const }
  const before = chooseComparisonPeriod(period, compare, today)
  return `${before.from} ${before.to}`
}

t.test('whole months are compared with as many whole months before', async (t) => {
  for (const [from, to, expected] of [
    ['2026-03-01', '2026-03-31', '2026-02-01 2026-02-28'],
    ['2024-03-01', '2024-03-31', '2024-02-01 2024-02-29'],
    ['2026-01-01', '2026-03-31', '2025-10-01 2025-12-31'],
    ['2026-02-01', '2026-02-28', '2026-01-01 2026-01-31'],
    ['2025-01-01', '2025-12-31', '2024-01-01 2024-12-31'],
  ] as const)
    t.equal(boundsBefore([from, to], 'previous_period'), expected, `${from} ${to}`)
})

t.test('whole months are compared with the same whole months a year before', async (t) => {
  for (const [from, to, expected] of [
    ['2025-02-01', '2025-02-28', '2024-02-01 2024-02-29'],
    ['2024-02-01', '2024-02-29', '2023-02-01 2023-02-28'],
    ['2025-01-01', '2025-02-28', '2024-01-01 2024-02-29'],
  ] as const)
    t.equal(boundsBefore([from, to], 'previous_year'), expected, `${from} ${to}`)
})

t.test('other periods are compared with as many days, or with the same dates', async (t) => {
  const days = ['2026-03-02', '2026-03-31'] as const
  t.equal(boundsBefore(days, 'previous_period'), '2026-01-31 2026-03-01')
  t.equal(boundsBefore(days, 'previous_year'), '2025-03-02 2025-03-31')
  t.equal(
    boundsBefore(['2026-03-01', '2026-03-15'], 'previous_period'),
    '2026-02-14 2026-02-28',
    'from the first of a month that is over',
  )
  t.equal(
    boundsBefore(['2024-02-29', '2024-02-29'], 'previous_year'),
    '2023-02-28 2023-02-28',
    '29 February becomes 28 February',
  )
})

t.test('a period that ends after today is compared with the same days', async (t) => {
  const november = ['2026-11-01', '2026-11-30'] as const
  t.equal(boundsBefore(november, 'previous_period'), '2026-10-01 2026-10-21')
  t.equal(boundsBefore(november, 'previous_year'), '2025-11-01 2025-11-21')
  for (const to of ['2026-11-21', '2026-11-25'])
    t.equal(boundsBefore(['2026-11-01', to], 'previous_period'), '2026-10-01 2026-10-21', to)
  t.equal(
    boundsBefore(['2026-11-01', '2026-11-15'], 'previous_period'),
    '2026-10-01 2026-10-15',
    'up to a day of the running month',
  )
  t.equal(
    boundsBefore(['2026-10-01', '2026-12-31'], 'previous_period'),
    '2026-07-01 2026-08-21',
    'the running quarter',
  )
  t.equal(
    boundsBefore(november, 'previous_period', '2026-11-30'),
    '2026-10-01 2026-10-31',
    'the last day of the month completes it',
  )
  t.equal(
    boundsBefore(['2026-03-01', '2026-03-31'], 'previous_period', '2026-03-30'),
    '2026-02-01 2026-02-28',
    'February has no 30th',
  )
  t.equal(
    boundsBefore(['2026-11-12', '2026-12-01'], 'previous_period'),
    '2026-10-23 2026-11-01',
    '10 of 20 days have passed',
  )
  t.equal(
    boundsBefore(['2027-01-01', '2027-01-31'], 'previous_period'),
    '2026-12-01 2026-12-31',
    'a period that has not begun is compared as a whole',
  )
})

t.test('any comparison period precedes the period and is not longer', async (t) => {
  const day = fc.integer({ min: 0, max: 2_600 }).map((days) => dayAfter('2023-01-01', days))
  const anyEnds = fc.tuple(day, day).map(([a, b]): [string, string] => (a < b ? [a, b] : [b, a]))
  const fromMonthStart = anyEnds.map(([from, to]): [string, string] => [
    `${from.slice(0, 8)}01`,
    to,
  ])
  const isBefore = fc.property(fc.oneof(anyEnds, fromMonthStart), day, ([from, to], today) => {
    const [first = '', last = ''] = boundsBefore([from, to], 'previous_period', today).split(' ')
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

t.test('a comparison period begins on the first day of the calendar at the earliest', async (t) => {
  t.equal(
    boundsBefore(['0901-01-01', '2026-10-31'], 'previous_period'),
    '0001-01-01 0900-12-31',
    'a misdated quote makes the period longer than the calendar before it',
  )
})
