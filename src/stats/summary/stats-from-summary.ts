// Reads the statistics from the summary, in one snapshot.
import { type Kysely, sql } from 'kysely'
import type { Company } from '../../company/company.ts'
import { getCurrencyDigits } from '../../company/money.ts'
import type { Tables } from '../../database/table-types.ts'
import { assembleStats } from '../assemble-stats.ts'
import { type DataVersion, readDataVersion } from '../cache/data-version.ts'
import { type PeriodTotals, type TotalsSource, zeroAmount } from '../period-totals.ts'
import type { Period, StatsRequest, StatsWithoutAsOf } from '../schema.ts'
import { extendOpenEnds } from './summary-grains.ts'
import {
  querySummary,
  querySummaryDateRange,
  type SummaryRow,
  summaryLevels,
} from './summary-query.ts'

/**
 * Returns the statistics and the data version that they contain. Revenue is the net of accepted
 * quotes. Each amount is converted on its own, rounded half up to the digits of the base currency,
 * and then added.
 */
export async function readStats(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
): Promise<{ stats: StatsWithoutAsOf; version: DataVersion }> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      // The lock precedes the snapshot: otherwise a concurrent truncate would be visible to some
      // of the statements below. Parallel workers would cost more than these few milliseconds.
      await sql`
        lock table quote_summary, quote_deltas, quote_figures, quote_validity in access share mode;
        set local max_parallel_workers_per_gather = 0
      `.execute(transaction)
      const version = await readDataVersion(transaction)
      const stats = await assembleStats(transaction, company, request, totalsFromSummary)
      return { stats, version }
    })
}

export const totalsFromSummary: TotalsSource = { readDateRange: querySummaryDateRange, readTotals }

async function readTotals(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  period: Period,
): Promise<PeriodTotals> {
  const base = company.baseCurrency
  const range = extendOpenEnds(request, period)
  const rows = await querySummary(db, request, range, getCurrencyDigits(base))
  const rowsOf = (level: number) => rows.filter((row) => row.level === level)
  const [total] = rowsOf(summaryLevels.total)
  const currencyRows = rowsOf(summaryLevels.currency)
  return {
    byStatus: countByStatus(total),
    revenue: { amount: total?.revenue ?? zeroAmount(base), currency: base },
    convertedQuotes: Number(total?.accepted ?? 0) - Number(total?.unconverted ?? 0),
    byCurrency: currencyRows.flatMap(({ currency, net, accepted }) =>
      moneyOfQuotes(net, currency, accepted),
    ),
    unconverted: currencyRows
      .flatMap(({ currency, unconvertedNet, unconverted }) =>
        moneyOfQuotes(unconvertedNet, currency, unconverted),
      )
      .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    byCountry: rowsOf(summaryLevels.country).map((row) => ({
      country: row.country,
      ...countsAndRevenue(row, base),
    })),
    byMonth: rowsOf(summaryLevels.month).map((row) => ({
      month: row.month ?? '',
      ...countsAndRevenue(row, base),
    })),
  }
}

/** A sent quote counts as expired from the day after its last valid day. */
function countByStatus(total: SummaryRow | undefined): PeriodTotals['byStatus'] {
  const sent = Number(total?.sent ?? 0)
  const stillValid = Number(total?.stillValid ?? 0)
  return {
    draft: Number(total?.drafts ?? 0),
    sent: stillValid,
    accepted: Number(total?.accepted ?? 0),
    rejected: Number(total?.rejected ?? 0),
    expired: Number(total?.expired ?? 0) + sent - stillValid,
  }
}

function countsAndRevenue(row: SummaryRow, base: string) {
  return {
    quotes: Number(row.quotes),
    accepted: Number(row.accepted),
    revenue: { amount: row.revenue, currency: base },
  }
}

/** Returns an empty list if there is no quote, and a list of one amount otherwise. */
function moneyOfQuotes(amount: string | null, currency: string | null, quotes: string) {
  return amount !== null && currency !== null && Number(quotes) > 0
    ? [{ amount, currency, quotes: Number(quotes) }]
    : []
}
