// The days to decision: mean and median, computed from a sum and a histogram.
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { computeDaysToDecision } from '../../src/stats/days-to-decision.ts'
import { testDatabase } from '../support/database/test-database.ts'

/** The sums over quotes decided after these days, as the summary would add them. */
function sumsOf(days: number[]) {
  const histogram = days.reduce((sum, day) => sum + 10n ** BigInt(8 * Math.min(day, 1_000)), 0n)
  return {
    quotes: days.length,
    days: days.reduce((sum, day) => sum + day, 0),
    histogram: String(histogram),
  }
}
const daysOf = (...days: number[]) => computeDaysToDecision(sumsOf(days))

t.test('the median is the middle value or the mean of the two middle values', async (t) => {
  t.same(daysOf(), { quotes: 0, mean: null, median: null })
  t.same(daysOf(0), { quotes: 1, mean: '0.0', median: '0.0' })
  t.same(daysOf(7), { quotes: 1, mean: '7.0', median: '7.0' })
  t.same(daysOf(3, 8), { quotes: 2, mean: '5.5', median: '5.5' })
  t.same(daysOf(0, 1), { quotes: 2, mean: '0.5', median: '0.5' })
  t.same(daysOf(9, 1, 2), { quotes: 3, mean: '4.0', median: '2.0' })
  t.same(daysOf(5, 5, 6, 90), { quotes: 4, mean: '26.5', median: '5.5' })
})

t.test('the mean is rounded half up to one decimal', async (t) => {
  t.equal(daysOf(0, 0, 0, 1).mean, '0.3', '0.25')
  t.equal(daysOf(1, 1, 2).mean, '1.3', '1.33…')
  t.equal(daysOf(1, 2, 2).mean, '1.7', '1.66…')
})

t.test('the median is exact to 1,000 days, the mean without a limit', async (t) => {
  t.same(daysOf(999, 1_000), { quotes: 2, mean: '999.5', median: '999.5' })
  t.same(daysOf(1_000), { quotes: 1, mean: '1000.0', median: '1000.0' })
  t.same(daysOf(1_001, 46_000), { quotes: 2, mean: '23500.5', median: '1000.0' })
  t.same(daysOf(2, 4, 46_000), { quotes: 3, mean: '15335.3', median: '4.0' })
})

t.test('the histogram counts up to 99,999,999 quotes for each number of days', async (t) => {
  const maxQuotes = 99_999_999
  const medianOf = (histogram: string, quotes: number) =>
    computeDaysToDecision({ ...sumsOf([]), quotes, histogram }).median
  t.equal(medianOf(String(maxQuotes), maxQuotes), '0.0')
  t.equal(medianOf(`${maxQuotes}00000000`, maxQuotes), '1.0')
  t.equal(medianOf(`${maxQuotes}${maxQuotes}`, 2 * maxQuotes), '0.5')
  t.equal(medianOf(`1${'0'.repeat(7)}${maxQuotes}`, maxQuotes + 10_000_000), '0.0')
})

t.test('the database packs histograms in the form that is unpacked', async (t) => {
  const { db } = await testDatabase(t)
  const readHistogram = async (decisions: [days: number, quotes: number][]) => {
    const { rows } = await sql<{ histogram: string }>`
      select sum(f.decision_histogram * d.quotes)::text as histogram
      from unnest(${decisions.map(([days]) => days)}::integer[],
          ${decisions.map(([, quotes]) => quotes)}::integer[]) d (days, quotes),
        quote_figures_of(row('accepted', 'ES', 'EUR', null, '2020-01-01', null,
          date '2020-01-01' + d.days, 100, null)::quote_image, 1, '2020-01-01', 'EUR', 2) f
      where f.date_kind = 'issued'
    `.execute(db)
    return rows[0]?.histogram ?? ''
  }
  const medianOf = async (...decisions: [days: number, quotes: number][]) => {
    const quotes = decisions.reduce((sum, [, count]) => sum + count, 0)
    const histogram = await readHistogram(decisions)
    return computeDaysToDecision({ ...sumsOf([]), quotes, histogram }).median
  }
  const maxQuotes = 99_999_999
  t.equal(await medianOf([0, 3], [1, 2]), '0.0')
  t.equal(await medianOf([1, maxQuotes], [2, maxQuotes]), '1.5')
  t.equal(await medianOf([1_000, maxQuotes], [1_001, 0], [7, maxQuotes - 1]), '1000.0')
  t.equal(await medianOf([1_001, 1]), '1000.0')
})

t.test('a histogram that is not a whole number is an error', async (t) => {
  for (const histogram of ['', '-1', '1.5', 'NaN', '1e8'])
    t.throws(
      () => computeDaysToDecision({ ...sumsOf([3]), histogram }),
      /is not a whole number: .*StatsDrift/,
    )
})

t.test('a histogram that has overflowed is an error', async (t) => {
  const { db } = await testDatabase(t)
  const { rows } = await sql<{ histogram: string }>`
    select (decision_histogram * 100000000)::text as histogram
    from quote_figures_of(
      row('accepted', 'ES', 'EUR', null, '2020-01-01', null, '2020-01-03', 100, null)::quote_image,
      1, '2020-01-01', 'EUR', 2)
    where date_kind = 'issued'
  `.execute(db)
  const histogram = rows[0]?.histogram ?? ''
  t.throws(
    () => computeDaysToDecision({ quotes: 100_000_000, days: 200_000_000, histogram }),
    /counts 1 quotes instead of 100000000\. .*`scripts\/run stats verify`.*StatsDrift/,
  )
})

t.test('the median equals the middle of the sorted days', async (t) => {
  const arbitraryDays = fc.array(fc.oneof(fc.nat(12), fc.nat(1_000)), { minLength: 1 })
  const result = fc.check(
    fc.property(arbitraryDays, (days) => {
      const sorted = days.toSorted((a, b) => a - b)
      const lower = sorted[Math.ceil(days.length / 2) - 1] ?? Number.NaN
      const upper = sorted[Math.floor(days.length / 2)] ?? Number.NaN
      return daysOf(...days).median === ((lower + upper) / 2).toFixed(1)
    }),
    { seed: 8 },
  )
  t.equal(result.failed ? fc.defaultReportMessage(result) : 'passed', 'passed')
})
