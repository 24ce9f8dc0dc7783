// The years, months and days of the summary that together are a period.
import t from 'tap'
import { addDays, countDays } from '../../src/company/calendar.ts'
import {
  type GrainRange,
  splitIntoMonths,
  splitIntoYears,
} from '../../src/stats/summary/summary-grains.ts'

/** Returns how often each day from 2022 to 2026 is part of the ranges. */
function countByDay(ranges: GrainRange[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { from, to, sign } of ranges)
    for (let day = from; day <= to; day = addDays(day, 1))
      counts.set(day, (counts.get(day) ?? 0) + sign)
  return new Map([...counts].filter(([, count]) => count !== 0))
}

const days = [
  ...['2022-01-01', '2022-01-02', '2022-12-31', '2023-01-01', '2023-01-17', '2023-01-31'],
  ...['2023-02-28', '2023-03-01', '2024-02-15', '2024-02-29', '2024-07-10', '2024-12-30'],
  ...['2025-06-30', '2025-07-01', '2025-12-31', '2026-01-01', '2026-11-20', '2026-12-31'],
]
const periods = days.flatMap((from) => days.filter((to) => from <= to).map((to) => ({ from, to })))

t.test('the rows of a period contain each of its days once and no other day', async (t) => {
  for (const { from, to } of periods) {
    const expected = new Map(
      Array.from({ length: countDays(from, to) + 1 }, (_, n) => [addDays(from, n), 1] as const),
    )
    const splits = [
      splitIntoYears({ from, to }),
      splitIntoMonths({ from, to }, { ofAllCountries: false }),
      splitIntoMonths({ from, to }, { ofAllCountries: true }),
    ]
    const areSame = splits.every((ranges) => {
      const counts = countByDay(ranges)
      return counts.size === expected.size && [...expected.keys()].every((day) => counts.has(day))
    })
    t.ok(areSame, `${from} to ${to}`)
  }
})

t.test('at most half a month is read by the day, and half a year by the month', async (t) => {
  const lengthOf = ({ from, to }: GrainRange) => countDays(from, to) + 1
  for (const { from, to } of periods) {
    const ranges = splitIntoYears({ from, to })
    const ofGrain = (grain: string) => ranges.filter((range) => range.grain === grain)
    t.ok(ofGrain('day').reduce((sum, range) => sum + lengthOf(range), 0) <= 2 * 15)
    t.ok(ofGrain('month').reduce((sum, range) => sum + lengthOf(range), 0) <= 2 * 7 * 31)
  }
})

t.test('an open end is the end of the calendar, which has no days outside', async (t) => {
  t.same(splitIntoYears({ from: '0001-01-01', to: '9999-12-31' }), [
    { grain: 'year', sign: 1, from: '0001-01-01', to: '9999-12-31' },
  ])
  t.same(splitIntoYears({ from: '9999-12-20', to: '9999-12-31' }), [
    { grain: 'day', sign: 1, from: '9999-12-20', to: '9999-12-31' },
  ])
  t.same(splitIntoYears({ from: '0001-01-01', to: '0001-01-20' }), [
    { grain: 'month', sign: 1, from: '0001-01-01', to: '0001-01-31' },
    { grain: 'day', sign: -1, from: '0001-01-21', to: '0001-01-31' },
  ])
})
