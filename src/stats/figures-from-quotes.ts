// The figures computed plainly, from the quotes themselves: what the summary is compared with, by the command that verifies it and by tests.
import { type Kysely, sql } from 'kysely'
import type { Company } from '../company/company.ts'
import { getCurrencyDigits, type Money } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import { type FiguresRequest, type Source, type Sums, zero } from './assemble-stats.ts'
import type { Period } from './schema.ts'

/** Aggregates over quotes: right by being plain, and slower the more quotes there are. */
export const plainFigures: Source = { readBounds, readSums }

/** The day that a quote counts on. An accepted quote whose decision date is not known counts on its issue date. */
function dayOf(request: FiguresRequest) {
  return request.date === 'accepted'
    ? sql<string>`coalesce(decided_on, issued_on)`
    : sql<string>`issued_on`
}

function countedQuotes(db: Kysely<Tables>, request: FiguresRequest) {
  return db
    .selectFrom('quotes')
    .where('status', '!=', 'superseded')
    .$if(request.date === 'accepted', (query) => query.where('status', '=', 'accepted'))
    .$if(request.country === 'unknown', (query) => query.where('country', 'is', null))
    .$if(request.country !== undefined && request.country !== 'unknown', (query) =>
      query.where('country', '=', request.country ?? null),
    )
}

async function readBounds(db: Kysely<Tables>, request: FiguresRequest) {
  return countedQuotes(db, request)
    .select([
      sql<string | null>`min(${dayOf(request)})`.as('first'),
      sql<string | null>`max(${dayOf(request)})`.as('last'),
    ])
    .executeTakeFirstOrThrow()
}

async function readSums(
  db: Kysely<Tables>,
  company: Company,
  request: FiguresRequest,
  period: Period,
): Promise<Sums> {
  const base = company.baseCurrency
  const digits = getCurrencyDigits(base)
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
          sql<string>`case when status = 'sent' and valid_until < ${request.today} then 'expired' else status end`.as(
            'status',
          ),
          'net',
          sql<
            string | null
          >`case when currency = ${base} then net else round(net * rate, ${digits}::integer) end`.as(
            'base_net',
          ),
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
      sql<string>`round(coalesce(sum(base_net) filter (where status = 'accepted'), 0), ${digits}::integer)::text`.as(
        'revenue',
      ),
      sql<number>`(count(base_net) filter (where status = 'accepted'))::integer`.as('converted'),
      sql<string>`round(coalesce(sum(net) filter (where status = 'accepted'), 0), max(digits))::text`.as(
        'ownNet',
      ),
    ])
    .groupBy(
      sql`grouping sets ((), (month), (country), (status), (currency), (currency, base_net is null))`,
    )
    .orderBy(sql`coalesce(sum(base_net) filter (where status = 'accepted'), 0) desc`)
    .orderBy('country', (order) => order.asc().nullsLast())
    .orderBy('month')
    .orderBy('currency')
    .execute()

  const of = (level: number) => rows.filter((row) => row.level === level)
  const inBase = (amount: string): Money => ({ amount, currency: base })
  const inOwn = ({ ownNet, currency, accepted }: (typeof rows)[number]) => ({
    amount: ownNet,
    currency,
    quotes: accepted,
  })
  const total = of(levels.total)[0]
  const count = (status: string) =>
    of(levels.status).find((row) => row.status === status)?.quotes ?? 0
  return {
    byStatus: {
      draft: count('draft'),
      sent: count('sent'),
      accepted: count('accepted'),
      rejected: count('rejected'),
      expired: count('expired'),
    },
    total: inBase(total?.revenue ?? zero(base)),
    converted: total?.converted ?? 0,
    byCurrency: of(levels.currency)
      .filter((row) => row.accepted > 0)
      .map(inOwn),
    unconverted: of(levels.converted)
      .filter((row) => row.unconverted && row.accepted > 0)
      .map(inOwn),
    byCountry: of(levels.country).map(({ country, quotes, accepted, revenue }) => ({
      country,
      quotes,
      accepted,
      revenue: inBase(revenue),
    })),
    byMonth: of(levels.month).map(({ month, quotes, accepted, revenue }) => ({
      month,
      quotes,
      accepted,
      revenue: inBase(revenue),
    })),
  }
}

/** grouping(month, country, status, currency, unconverted): a bit is set for each one that a row is not grouped by. */
const levels = {
  total: 0b11111,
  month: 0b01111,
  country: 0b10111,
  status: 0b11011,
  currency: 0b11101,
  converted: 0b11100,
}
