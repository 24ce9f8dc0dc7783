// The years, months and days of the summary that together are a period.
import t from 'tap'
import { addDays, countDaysIncluded } from '../../../src/company/calendar.ts'
import {
  coverWithMonths,
  coverWithYears,
  type GrainRange,
} from '../../../src/stats/summary/summary-grains.ts'

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
      Array.from({ length: countDaysIncluded(from, to) }, (_, n) => [addDays(from, n), 1] as const),
    )
    const splits = [
      coverWithYears({ from, to }),
      coverWithMonths({ from, to }, { overAllCountries: false }),
      coverWithMonths({ from, to }, { overAllCountries: true }),
    ]
    const areSame = splits.every((ranges) => {
      const counts = countByDay(ranges)
      return counts.size === expected.size && [...expected.keys()].every((day) => counts.has(day))
    })
    t.ok(areSame, `${from} to ${to}`)
  }
})

t.test(
  'at each end of a period, at most half a month of days and half a year of months are read',
  async (t) => {
    const lengthOf = ({ from, to }: GrainRange) => countDaysIncluded(from, to)
    const [ends, maxDaysOfEnd, maxMonthsOfEnd] = [2, 15, 7]
    for (const { from, to } of periods) {
      const ranges = coverWithYears({ from, to })
      const ofGrain = (grain: string) => ranges.filter((range) => range.grain === grain)
      t.ok(ofGrain('day').reduce((sum, range) => sum + lengthOf(range), 0) <= ends * maxDaysOfEnd)
      t.ok(
        ofGrain('month').reduce((sum, range) => sum + lengthOf(range), 0) <=
          ends * maxMonthsOfEnd * 31,
      )
    }
  },
)

t.test('at each end of a period, the fewer rows are added or subtracted', async (t) => {
  const day = (sign: 1 | -1, from: string, to: string) => ({ grain: 'day', sign, from, to })
  const month = (from: string, to: string) => ({ grain: 'month', sign: 1, from, to })
  for (const [from, to, expected] of [
    // Within a month.
    ['2026-03-05', '2026-03-05', [day(1, '2026-03-05', '2026-03-05')]],
    ['2026-04-01', '2026-04-15', [day(1, '2026-04-01', '2026-04-15')]],
    [
      '2026-03-03',
      '2026-03-31',
      [month('2026-03-01', '2026-03-31'), day(-1, '2026-03-01', '2026-03-02')],
    ],
    // Over several months.
    ['2026-03-01', '2026-05-31', [month('2026-03-01', '2026-05-31')]],
    [
      '2026-03-30',
      '2026-05-02',
      [
        month('2026-04-01', '2026-04-30'),
        day(1, '2026-03-30', '2026-03-31'),
        day(1, '2026-05-01', '2026-05-02'),
      ],
    ],
    [
      '2026-03-03',
      '2026-05-29',
      [
        month('2026-03-01', '2026-05-31'),
        day(-1, '2026-03-01', '2026-03-02'),
        day(-1, '2026-05-30', '2026-05-31'),
      ],
    ],
    // No whole month is left between the ends.
    [
      '2026-03-30',
      '2026-04-02',
      [day(1, '2026-03-30', '2026-03-31'), day(1, '2026-04-01', '2026-04-02')],
    ],
  ] as const)
    t.same(coverWithMonths({ from, to }, { overAllCountries: false }), expected, `${from} ${to}`)
})

t.test('an open end is the end of the calendar, and no day outside is computed', async (t) => {
  t.same(coverWithYears({ from: '0001-01-01', to: '9999-12-31' }), [
    { grain: 'year', sign: 1, from: '0001-01-01', to: '9999-12-31' },
  ])
  t.same(coverWithYears({ from: '9999-12-20', to: '9999-12-31' }), [
    { grain: 'day', sign: 1, from: '9999-12-20', to: '9999-12-31' },
  ])
  t.same(coverWithYears({ from: '0001-01-01', to: '0001-01-20' }), [
    { grain: 'month', sign: 1, from: '0001-01-01', to: '0001-01-31' },
    { grain: 'day', sign: -1, from: '0001-01-21', to: '0001-01-31' },
  ])
})
