// The days to decision: mean and median, computed from a sum and a histogram.
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { computeDaysToDecision } from '../../src/stats/days-to-decision.ts'
import { testDatabase } from '../support/database/test-database.ts'

/** The histogram of decisions after these days, and how many there are of each, as of quotes. */
function pack(...decisions: [days: number, quotes: number][]): string {
  return String(
    decisions.reduce(
      (sum, [days, n]) => sum + BigInt(n) * 10n ** BigInt(8 * Math.min(days, 1_000)),
      0n,
    ),
  )
}
const daysOf = (...days: number[]) =>
  computeDaysToDecision({
    quotes: days.length,
    days: days.reduce((sum, day) => sum + day, 0),
    histogram: pack(...days.map((day): [number, number] => [day, 1])),
  })

t.test('mean and median are rounded half up to one decimal', async (t) => {
  for (const [days, mean, median] of [
    [[], null, null],
    [[0], '0.0', '0.0'],
    [[7], '7.0', '7.0'],
    [[3, 8], '5.5', '5.5'],
    [[0, 1], '0.5', '0.5'],
    [[9, 1, 2], '4.0', '2.0'],
    [[5, 5, 6, 90], '26.5', '5.5'],
    [[0, 0, 0, 1], '0.3', '0.0'],
    [[1, 1, 2], '1.3', '1.0'],
    [[1, 2, 2], '1.7', '2.0'],
    // The median is exact to 1,000 days, the mean without a limit.
    [[999, 1_000], '999.5', '999.5'],
    [[1_000], '1000.0', '1000.0'],
    [[1_001, 46_000], '23500.5', '1000.0'],
    [[2, 4, 46_000], '15335.3', '4.0'],
  ] as const)
    t.same(daysOf(...days), { quotes: days.length, mean, median }, days.join())
})

t.test('the median equals the middle of the sorted days', async () => {
  const arbitraryDays = fc.array(fc.oneof(fc.nat(12), fc.nat(1_000)), { minLength: 1 })
  const isMiddle = fc.property(arbitraryDays, (days) => {
    const sorted = days.toSorted((a, b) => a - b)
    const lower = sorted[Math.ceil(days.length / 2) - 1] ?? Number.NaN
    const upper = sorted[Math.floor(days.length / 2)] ?? Number.NaN
    return daysOf(...days).median === ((lower + upper) / 2).toFixed(1)
  })
  fc.assert(isMiddle, { seed: 8 })
})

t.test('the database counts up to 99,999,999 quotes for each number of days', async (t) => {
  const { db } = await testDatabase(t)
  const maxQuotes = 99_999_999
  for (const [decisions, median] of [
    [
      [
        [0, 1],
        [3, 2],
      ],
      '3.0',
    ],
    [[[0, maxQuotes]], '0.0'],
    [
      [
        [1, maxQuotes],
        [2, maxQuotes],
      ],
      '1.5',
    ],
    [
      [
        [0, maxQuotes],
        [1, 10_000_000],
      ],
      '0.0',
    ],
    [
      [
        [1_000, maxQuotes],
        [7, maxQuotes - 1],
      ],
      '1000.0',
    ],
    [[[1_001, 1]], '1000.0'],
    [[[2, maxQuotes + 1]], /counts 1 quotes instead of 100000000\. .*`scripts\/run stats verify`/],
  ] as [[number, number][], string | RegExp][]) {
    const { rows } = await sql<{ histogram: string }>`
      select sum(f.decision_histogram * d.quotes)::text as histogram
      from unnest(${decisions.map(([days]) => days)}::integer[],
          ${decisions.map(([, quotes]) => quotes)}::integer[]) d (days, quotes),
        quote_figures_of(row('accepted', 'ES', 'EUR', null, '2020-01-01', null,
          date '2020-01-01' + d.days, 100, null)::quote_image, 1, '2020-01-01', 'EUR', 2) f
      where f.date_kind = 'issued'
    `.execute(db)
    const histogram = rows[0]?.histogram ?? ''
    t.equal(histogram, pack(...decisions))
    const quotes = decisions.reduce((sum, [, n]) => sum + n, 0)
    const compute = () => computeDaysToDecision({ quotes, days: 0, histogram }).median
    if (typeof median === 'string') t.equal(compute(), median)
    else t.throws(compute, median)
  }
})

t.test('a histogram that is not a whole number is an error', async (t) => {
  for (const histogram of ['', '-1', '1.5', 'NaN', '1e8'])
    t.throws(
      () => computeDaysToDecision({ quotes: 1, days: 3, histogram }),
      /quotes instead of 1\. .*StatsDrift/,
    )
})
