// The days from the issue of a quote to its decision: mean and median.
import { divide } from './exact-decimals.ts'

const daysDecimals = 1
/** As in the SQL function quote_figures_of. test/stats/days-to-decision.test.ts checks it. */
const digitsPerCount = 8

/**
 * Returns the number of quotes with a day of decision, and the mean and the median of the days from
 * issue to decision, whose sum is `days`. `histogram` has the number of quotes for each of them.
 * Both are null if there is no such quote. The mean is rounded half up. The median is the middle
 * value, or the mean of the two middle values. It is at most 1,000, because the database counts
 * more days as 1,000.
 */
export function computeDaysToDecision({
  quotes,
  days,
  histogram,
}: {
  quotes: number
  days: number
  histogram: string
}): { quotes: number; mean: string | null; median: string | null } {
  return {
    quotes,
    mean: divide(days, quotes, daysDecimals),
    median: medianOf(unpackHistogram(histogram, quotes)),
  }
}

/**
 * Returns how many quotes were decided after 0, 1, 2… days. `packed` is a whole decimal number with
 * `digitsPerCount` digits for each number of days, the last ones for 0 days: 200000003 means 3
 * quotes after 0 days and 2 after 1 day. The sum of two such numbers has the counts of both groups,
 * so the database adds them with sum().
 *
 * A count with more digits would change the next one. A company would need 100 million quotes that
 * were decided after the same number of days. So it throws if the counts do not add up to `quotes`.
 */
function unpackHistogram(packed: string, quotes: number): number[] {
  const counts: number[] = []
  for (let end = packed.length; end > 0; end -= digitsPerCount)
    counts.push(Number(packed.slice(Math.max(0, end - digitsPerCount), end)))
  const sum = counts.reduce((total, count) => total + count, 0)
  if (sum === quotes) return counts
  throw new Error(
    `The histogram of decision days counts ${sum} quotes instead of ${quotes}. Probably the ` +
      'statistics summary differs from the quotes: run `scripts/run stats verify` and follow ' +
      'StatsDrift in docs/operations/runbook.md',
  )
}

function medianOf(counts: number[]): string | null {
  const quotes = counts.reduce((sum, count) => sum + count, 0)
  if (quotes === 0) return null
  const lower = dayOfRank(counts, Math.ceil(quotes / 2))
  const upper = dayOfRank(counts, Math.floor(quotes / 2) + 1)
  return divide(lower + upper, 2, daysDecimals)
}

/** Returns the days of the quote at place `rank`, from 1, if quotes are sorted by their days. */
function dayOfRank(counts: number[], rank: number): number {
  let quotes = 0
  return counts.findIndex((count) => {
    quotes += count
    return quotes >= rank
  })
}
