// The figures over quotes: aggregate queries, every sum made in PostgreSQL's numeric.
import { type Kysely, sql } from 'kysely'
import { addDays, daysBetween, monthBounds, monthsBetween, yearBefore } from '../calendar.ts'
import type { Company } from '../company.ts'
import type { Tables } from '../database/tables.ts'
import { currencyDigits, type Money } from '../money.ts'
import type { Period, Stats, StatsQuery } from './schema.ts'

/** What decides the figures beside the data: the parameters, the company's calendar and currency, and the local day. */
export type FiguresRequest = StatsQuery & { today: string }

/**
 * Computes the figures of one period, and of the one it is compared with. Reads one snapshot, so that every breakdown adds up to its total.
 * Revenue is the net of accepted quotes; each is converted on its own, rounded half up to the base currency's digits, and then summed.
 */
export async function readFigures(db: Kysely<Tables>, company: Company, request: FiguresRequest): Promise<Stats> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      const period = await readPeriod(transaction, company, request)
      const now = await readSums(transaction, company, request, period)
      const earlier = request.compare && periodBefore(period, request.compare)
      const before = earlier && (await readSums(transaction, company, request, earlier))
      return {
        period,
        quotes: now.quotes,
        revenue: now.revenue,
        byCountry: now.byCountry,
        byMonth: fillMonths(now.byMonth, period, request.today, now.revenue.total),
        comparison:
          earlier && before
            ? { period: earlier, quotes: before.quotes, revenue: before.revenue, change: await readChange(transaction, now, before) }
            : null,
      }
    })
}

async function readPeriod(db: Kysely<Tables>, company: Company, request: FiguresRequest): Promise<Period> {
  const bounds =
    request.from !== undefined && request.to !== undefined
      ? undefined
      : await countedQuotes(db, request)
          .select([sql<string | null>`min(${dayOf(request)})`.as('first'), sql<string | null>`max(${dayOf(request)})`.as('last')])
          .executeTakeFirst()
  const from = request.from ?? earliest(bounds?.first ?? request.today, request.to)
  const to = request.to ?? latest(bounds?.last ?? request.today, request.from)
  return { from, to, timeZone: company.timeZone, date: request.date }
}

const earliest = (day: string, other = day): string => (day < other ? day : other)
const latest = (day: string, other = day): string => (day > other ? day : other)

function periodBefore(period: Period, compare: 'previous_period' | 'previous_year'): Period {
  if (compare === 'previous_year') return { ...period, from: yearBefore(period.from), to: yearBefore(period.to) }
  const days = daysBetween(period.from, period.to) + 1
  return { ...period, from: addDays(period.from, -days), to: addDays(period.from, -1) }
}

/** The day that a quote counts on. An accepted quote whose decision date is not known counts on its issue date. */
function dayOf(request: FiguresRequest) {
  return request.date === 'accepted' ? sql<string>`coalesce(decided_on, issued_on)` : sql<string>`issued_on`
}

function countedQuotes(db: Kysely<Tables>, request: FiguresRequest) {
  return db
    .selectFrom('quotes')
    .where('status', '!=', 'superseded')
    .$if(request.date === 'accepted', (query) => query.where('status', '=', 'accepted'))
    .$if(request.country === 'unknown', (query) => query.where('country', 'is', null))
    .$if(request.country !== undefined && request.country !== 'unknown', (query) => query.where('country', '=', request.country ?? null))
}

type Sums = Pick<Stats, 'quotes' | 'revenue' | 'byCountry'> & { byMonth: Omit<Stats['byMonth'][number], 'partial'>[] }

async function readSums(db: Kysely<Tables>, company: Company, request: FiguresRequest, period: Period): Promise<Sums> {
  const base = company.baseCurrency
  const digits = currencyDigits(base)
  const rows = await db
    .with('counted', () =>
      countedQuotes(db, request)
        .where(dayOf(request), '>=', period.from)
        .where(dayOf(request), '<=', period.to)
        .select([
          sql<string>`to_char(${dayOf(request)}, 'YYYY-MM')`.as('month'),
          'country',
          'currency',
          // A quote stands to the end of its last day; from the next local day on it has expired by itself.
          sql<string>`case when status = 'sent' and valid_until < ${request.today} then 'expired' else status end`.as('status'),
          'net',
          sql<string | null>`case when currency = ${base} then net else round(net * rate, ${digits}::integer) end`.as('base_net'),
        ]),
    )
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
      sql<string>`round(coalesce(sum(base_net) filter (where status = 'accepted'), 0), ${digits}::integer)::text`.as('revenue'),
      sql<string | null>`round(avg(base_net) filter (where status = 'accepted'), ${digits}::integer)::text`.as('average'),
      sql<string>`round(coalesce(sum(net) filter (where status = 'accepted'), 0), max(digits))::text`.as('ownNet'),
      sql<string | null>`${ratio('accepted', ['sent', 'accepted', 'rejected', 'expired'])}`.as('ofSent'),
      sql<string | null>`${ratio('accepted', ['accepted', 'rejected', 'expired'])}`.as('ofDecided'),
    ])
    .groupBy(sql`grouping sets ((), (month), (country), (status), (currency), (currency, base_net is null))`)
    .orderBy(sql`coalesce(sum(base_net) filter (where status = 'accepted'), 0) desc`)
    .orderBy('country', (order) => order.asc().nullsLast())
    .orderBy('month')
    .orderBy('currency')
    .execute()

  const of = (level: number) => rows.filter((row) => row.level === level)
  const inBase = (amount: string): Money => ({ amount, currency: base })
  const inOwn = ({ ownNet, currency, accepted }: (typeof rows)[number]) => ({ amount: ownNet, currency, quotes: accepted })
  const total = of(levels.total)[0]
  const count = (status: string) => of(levels.status).find((row) => row.status === status)?.quotes ?? 0
  return {
    quotes: {
      total: total?.quotes ?? 0,
      byStatus: {
        draft: count('draft'),
        sent: count('sent'),
        accepted: count('accepted'),
        rejected: count('rejected'),
        expired: count('expired'),
      },
      acceptance: { ofSent: total?.ofSent ?? null, ofDecided: total?.ofDecided ?? null },
    },
    revenue: {
      total: inBase(total?.revenue ?? zero(digits)),
      average: total?.average == null ? null : inBase(total.average),
      byCurrency: of(levels.currency)
        .filter((row) => row.accepted > 0)
        .map(inOwn),
      unconverted: of(levels.converted)
        .filter((row) => row.unconverted && row.accepted > 0)
        .map(inOwn),
    },
    byCountry: of(levels.country).map(({ country, quotes, accepted, revenue }) => ({
      country,
      quotes,
      accepted,
      revenue: inBase(revenue),
    })),
    byMonth: of(levels.month).map(({ month, quotes, accepted, revenue }) => ({ month, quotes, accepted, revenue: inBase(revenue) })),
  }
}

/** grouping(month, country, status, currency, unconverted): a bit is set for each one that a row is not grouped by. */
const levels = { total: 0b11111, month: 0b01111, country: 0b10111, status: 0b11011, currency: 0b11101, converted: 0b11100 }

function ratio(status: string, among: string[]) {
  const whole = sql`count(*) filter (where status = any(${among}::text[]))`
  return sql`round(count(*) filter (where status = ${status}) / nullif(${whole}, 0)::numeric, 4)::text`
}

function zero(digits = 0): string {
  return digits === 0 ? '0' : `0.${'0'.repeat(digits)}`
}

function fillMonths(months: Sums['byMonth'], period: Period, today: string, total: Money): Stats['byMonth'] {
  const known = new Map(months.map((month) => [month.month, month]))
  const nothing: Money = { amount: zero(currencyDigits(total.currency)), currency: total.currency }
  return monthsBetween(period.from, period.to).map((month) => {
    const { first, last } = monthBounds(month)
    const { quotes, accepted, revenue } = known.get(month) ?? { quotes: 0, accepted: 0, revenue: nothing }
    // Today's month is cut too: its last day is not over.
    return { month, partial: first < period.from || last > period.to || last >= today, quotes, accepted, revenue }
  })
}

async function readChange(db: Kysely<Tables>, now: Sums, before: Sums) {
  const change = (after: string | number, earlier: string | number) =>
    sql<string | null>`round((${String(after)}::numeric - ${String(earlier)}::numeric) / nullif(${String(earlier)}::numeric, 0), 4)::text`
  return db
    .selectNoFrom([
      change(now.quotes.total, before.quotes.total).as('quotes'),
      change(now.quotes.byStatus.accepted, before.quotes.byStatus.accepted).as('accepted'),
      change(now.revenue.total.amount, before.revenue.total.amount).as('revenue'),
    ])
    .executeTakeFirstOrThrow()
}
