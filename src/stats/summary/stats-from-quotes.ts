// Computes the totals from the quotes themselves, to verify the summary. It is simple, and its cost
// grows with the number of quotes.
import { type Kysely, sql } from 'kysely'
import type { Company } from '../../company/company.ts'
import { getCurrencyDigits, type Money } from '../../company/money.ts'
import type { Tables } from '../../database/table-types.ts'
import { type PeriodTotals, type TotalsSource, zeroAmount } from '../period-totals.ts'
import type { Period, StatsRequest } from '../schema.ts'

export const totalsFromQuotes: TotalsSource = { readDateRange, readTotals }

async function readDateRange(db: Kysely<Tables>, request: StatsRequest) {
  return selectCountedQuotes(db, request)
    .select([
      sql<string | null>`min(${dayOf(request)})`.as('first'),
      sql<string | null>`max(${dayOf(request)})`.as('last'),
    ])
    .executeTakeFirstOrThrow()
}

async function readTotals(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  period: Period,
): Promise<PeriodTotals> {
  const base = company.baseCurrency
  const rows = await queryQuotes(db, base, request, period)
  const rowsOf = (level: number) => rows.filter((row) => row.level === level)
  const [total] = rowsOf(levels.total)
  const statusRows = rowsOf(levels.status)
  const count = (status: string) => statusRows.find((row) => row.status === status)?.quotes ?? 0
  const withAcceptedQuotes = (row: Row) => row.accepted > 0
  return {
    byStatus: {
      draft: count('draft'),
      sent: count('sent'),
      accepted: count('accepted'),
      rejected: count('rejected'),
      expired: count('expired'),
    },
    revenue: inBase(total?.revenue ?? zeroAmount(base), base),
    convertedQuotes: total?.converted ?? 0,
    byCurrency: rowsOf(levels.currency).filter(withAcceptedQuotes).map(moneyOfQuotes),
    unconverted: rowsOf(levels.isConverted)
      .filter((row) => row.unconverted && withAcceptedQuotes(row))
      .map(moneyOfQuotes),
    byCountry: rowsOf(levels.country).map(({ country, quotes, accepted, revenue }) => ({
      country,
      quotes,
      accepted,
      revenue: inBase(revenue, base),
    })),
    byMonth: rowsOf(levels.month).map(({ month, quotes, accepted, revenue }) => ({
      month,
      quotes,
      accepted,
      revenue: inBase(revenue, base),
    })),
  }
}

/**
 * The value of `grouping(month, country, status, currency, unconverted)`. A bit is set for each
 * column that a row is not grouped by.
 */
const levels = {
  total: 0b11111,
  month: 0b01111,
  country: 0b10111,
  status: 0b11011,
  currency: 0b11101,
  isConverted: 0b11100,
}

type Row = Awaited<ReturnType<typeof queryQuotes>>[number]

const inBase = (amount: string, base: string): Money => ({ amount, currency: base })

const moneyOfQuotes = ({ ownNet, currency, accepted }: Row) => ({
  amount: ownNet,
  currency,
  quotes: accepted,
})

function queryQuotes(db: Kysely<Tables>, base: string, request: StatsRequest, period: Period) {
  const digits = sql`${getCurrencyDigits(base)}::integer`
  return db
    .with('counted', () => selectConvertedQuotes(db, base, request, period))
    .selectFrom('counted')
    .innerJoin('currencies', 'currencies.code', 'counted.currency')
    .select([
      sql<number>`grouping(month, country, status, currency, base_net is null)`.as('level'),
      'month',
      'country',
      'status',
      'currency',
      sql<boolean | null>`base_net is null`.as('unconverted'),
      sql<number>`count(*)::integer`.as('quotes'),
      sql<number>`count(*) filter (where status = 'accepted')::integer`.as('accepted'),
      sql<string>`coalesce(sum(net) filter (where status = 'accepted'), 0)::text`.as('net'),
      sql<string>`round(
        coalesce(sum(base_net) filter (where status = 'accepted'), 0), ${digits}
      )::text`.as('revenue'),
      sql<number>`(count(base_net) filter (where status = 'accepted'))::integer`.as('converted'),
      sql<string>`round(
        coalesce(sum(net) filter (where status = 'accepted'), 0), max(digits)
      )::text`.as('ownNet'),
    ])
    .groupBy(
      sql`grouping sets (
        (), (month), (country), (status), (currency), (currency, base_net is null)
      )`,
    )
    .orderBy(sql`coalesce(sum(base_net) filter (where status = 'accepted'), 0) desc`)
    .orderBy('country', (order) => order.asc().nullsLast())
    .orderBy('month')
    .orderBy('currency')
    .execute()
}

/** Selects the quotes of the period with today's status and with the net in the base currency. */
function selectConvertedQuotes(
  db: Kysely<Tables>,
  base: string,
  request: StatsRequest,
  period: Period,
) {
  const digits = sql`${getCurrencyDigits(base)}::integer`
  return selectCountedQuotes(db, request)
    .where(dayOf(request), '>=', period.from)
    .where(dayOf(request), '<=', period.to)
    .select([
      sql<string>`to_char(${dayOf(request)}, 'YYYY-MM')`.as('month'),
      'country',
      'currency',
      // A sent quote counts as expired from the day after its last valid day.
      sql<string>`case
        when status = 'sent' and valid_until < ${request.today} then 'expired' else status
      end`.as('status'),
      'net',
      sql<string | null>`case
        when currency = ${base} then net else round(net * rate, ${digits})
      end`.as('base_net'),
    ])
}

function selectCountedQuotes(db: Kysely<Tables>, request: StatsRequest) {
  return db
    .selectFrom('quotes')
    .where('status', '!=', 'superseded')
    .$if(request.date === 'accepted', (query) => query.where('status', '=', 'accepted'))
    .$if(request.country === 'unknown', (query) => query.where('country', 'is', null))
    .$if(request.country !== undefined && request.country !== 'unknown', (query) =>
      query.where('country', '=', request.country ?? null),
    )
    .$if(request.currency !== undefined, (query) =>
      query.where('currency', '=', request.currency ?? ''),
    )
}

/** The day on which a quote counts. Without a decision date it is the issue date. */
function dayOf(request: StatsRequest) {
  return request.date === 'accepted'
    ? sql<string>`coalesce(decided_on, issued_on)`
    : sql<string>`issued_on`
}
