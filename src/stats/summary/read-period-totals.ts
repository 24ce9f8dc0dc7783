// Reads the totals of a period from the summary and groups them for the answer.
import type { Kysely } from 'kysely'
import type { Company } from '../../company/company.ts'
import { getCurrencyDigits } from '../../company/currencies.ts'
import type { Tables } from '../../database/table-types.ts'
import { emptyGroupTotals, type GroupTotals, type PeriodTotals } from '../period-totals-type.ts'
import type { StatsRequest } from '../schema.ts'
import type { DateRange } from './summary-grains.ts'
import { queryTotals, type SummaryLevel, type SummaryRow } from './summary-query.ts'

/** Both ends of `range` are included. Without `breakdowns` there are no countries and no months. */
export async function readPeriodTotals(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  { range, breakdowns }: { range: DateRange; breakdowns: boolean },
): Promise<PeriodTotals> {
  const baseDigits = getCurrencyDigits(company.baseCurrency) ?? 0
  const rows = await queryTotals(db, request, range, { baseDigits, breakdowns })
  const rowsOf = (level: SummaryLevel) => rows.filter((row) => row.level === level)
  const [total] = rowsOf('total')
  const currencies = rowsOf('currency')
  return {
    total: total ? groupTotals(total) : emptyGroupTotals(company.baseCurrency),
    convertedQuotes: Number(total?.accepted ?? 0) - Number(total?.unconverted ?? 0),
    byCurrency: currencies.flatMap(({ currency, own_net, accepted }) =>
      moneyOfQuotes(own_net, currency, accepted),
    ),
    unconverted: currencies
      .flatMap(({ currency, own_unconverted_net, unconverted }) =>
        moneyOfQuotes(own_unconverted_net, currency, unconverted),
      )
      .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    byCountry: rowsOf('country').map((row) => ({ country: row.country, ...groupTotals(row) })),
    byMonth: rowsOf('month').map((row) => ({ month: row.month ?? '', ...groupTotals(row) })),
  }
}

/** A sent quote counts as expired from the day after its last valid day. */
function groupTotals(row: SummaryRow): GroupTotals {
  return {
    draft: Number(row.drafts),
    sent: Number(row.valid),
    accepted: Number(row.accepted),
    rejected: Number(row.rejected),
    expired: Number(row.expired) + Number(row.sent) - Number(row.valid),
    open: row.open,
    won: row.won,
    lost: row.lost,
    decided: Number(row.decided),
    decisionDays: Number(row.decision_days),
    decisionHistogram: row.decision_histogram,
  }
}

/** Returns an empty list if there is no quote, and a list of one amount otherwise. */
function moneyOfQuotes(amount: string | null, currency: string | null, quotes: string) {
  return amount !== null && currency !== null && Number(quotes) > 0
    ? [{ amount, currency, quotes: Number(quotes) }]
    : []
}
