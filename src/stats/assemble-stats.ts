// From sums to the answer: the period, filled months, the comparison. The same for the summary and for the plain computation.
import type { Kysely } from 'kysely'
import {
  addDays,
  countDays,
  getMonthBounds,
  listMonths,
  subtractYear,
} from '../company/calendar.ts'
import type { Company } from '../company/company.ts'
import { getCurrencyDigits, type Money } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import { divide, subtract } from './exact-decimals.ts'
import type { Period, Stats, StatsQuery } from './schema.ts'

/** What decides the figures beside the data: the parameters, the company's calendar and currency, and the local day. */
export type FiguresRequest = Pick<StatsQuery, 'from' | 'to' | 'date' | 'country' | 'compare'> & {
  today: string
}

/** What is summed over a period; months without quotes are left out. `converted` counts the accepted quotes that are in the revenue. */
export type Sums = {
  byStatus: Stats['quotes']['byStatus']
  total: Money
  converted: number
  byCurrency: Stats['revenue']['byCurrency']
  unconverted: Stats['revenue']['unconverted']
  byCountry: Stats['byCountry']
  byMonth: Omit<Stats['byMonth'][number], 'partial'>[]
}

/** Where sums come from. */
export type Source = {
  /** First and last day that a quote counts on; null without any. */
  readBounds(
    db: Kysely<Tables>,
    request: FiguresRequest,
  ): Promise<{ first: string | null; last: string | null }>
  readSums(
    db: Kysely<Tables>,
    company: Company,
    request: FiguresRequest,
    period: Period,
  ): Promise<Sums>
}

/** Computes the figures of one period, and of the one it is compared with. `db` must be one snapshot, so that every breakdown adds up to its total. */
export async function readAnswer(
  db: Kysely<Tables>,
  company: Company,
  request: FiguresRequest,
  source: Source,
): Promise<Stats> {
  const period = await readPeriod(db, company, request, source)
  const now = await source.readSums(db, company, request, period)
  const earlier = request.compare && periodBefore(period, request.compare)
  // The edges of the earlier period are cuts, also where those of the first are the data's own.
  const before =
    earlier &&
    (await source.readSums(
      db,
      company,
      { ...request, from: earlier.from, to: earlier.to },
      earlier,
    ))
  return {
    period,
    ...headOf(now),
    byCountry: now.byCountry,
    byMonth: fillMonths(now.byMonth, period, request.today, now.total),
    comparison:
      earlier && before
        ? { period: earlier, ...headOf(before), change: changeOf(now, before) }
        : null,
  }
}

function headOf({
  byStatus,
  total,
  converted,
  byCurrency,
  unconverted,
}: Sums): Pick<Stats, 'quotes' | 'revenue'> {
  const { sent, accepted, rejected, expired } = byStatus
  const average = divide(total.amount, converted, getCurrencyDigits(total.currency) ?? 0)
  return {
    quotes: {
      total: countOf(byStatus),
      byStatus,
      acceptance: {
        ofSent: divide(accepted, sent + accepted + rejected + expired, 4),
        ofDecided: divide(accepted, accepted + rejected + expired, 4),
      },
    },
    revenue: {
      total,
      average: average === null ? null : { amount: average, currency: total.currency },
      byCurrency,
      unconverted,
    },
  }
}

const countOf = (byStatus: Sums['byStatus']) =>
  Object.values(byStatus).reduce((sum, count) => sum + count, 0)

function changeOf(now: Sums, before: Sums) {
  const change = (after: string | number, earlier: string | number) =>
    divide(subtract(after, earlier), earlier, 4)
  return {
    quotes: change(countOf(now.byStatus), countOf(before.byStatus)),
    accepted: change(now.byStatus.accepted, before.byStatus.accepted),
    revenue: change(now.total.amount, before.total.amount),
  }
}

async function readPeriod(
  db: Kysely<Tables>,
  company: Company,
  request: FiguresRequest,
  source: Source,
): Promise<Period> {
  const given = request.from !== undefined && request.to !== undefined
  const { first, last } = given ? { first: null, last: null } : await source.readBounds(db, request)
  const from = request.from ?? earliest(first ?? request.today, request.to)
  const to = request.to ?? latest(last ?? request.today, request.from)
  return { from, to, timeZone: company.timeZone, date: request.date }
}

const earliest = (day: string, other = day): string => (day < other ? day : other)
const latest = (day: string, other = day): string => (day > other ? day : other)

const firstDay = '0001-01-01'

function periodBefore(period: Period, compare: 'previous_period' | 'previous_year'): Period {
  if (compare === 'previous_year')
    return { ...period, from: subtractYear(period.from), to: subtractYear(period.to) }
  // One misdated quote makes a period longer than time is old.
  const days = Math.min(countDays(period.from, period.to) + 1, countDays(firstDay, period.from))
  return { ...period, from: addDays(period.from, -days), to: addDays(period.from, -1) }
}

function fillMonths(
  months: Sums['byMonth'],
  period: Period,
  today: string,
  total: Money,
): Stats['byMonth'] {
  const known = new Map(months.map((month) => [month.month, month]))
  const nothing: Money = { amount: zero(total.currency), currency: total.currency }
  return listMonths(period.from, period.to).map((month) => {
    const { first, last } = getMonthBounds(month)
    const { quotes, accepted, revenue } = known.get(month) ?? {
      quotes: 0,
      accepted: 0,
      revenue: nothing,
    }
    // Today's month is cut too: its last day is not over.
    return {
      month,
      partial: first < period.from || last > period.to || last >= today,
      quotes,
      accepted,
      revenue,
    }
  })
}

/** Nothing, with the digits of the currency. */
export function zero(currency: string): string {
  const digits = getCurrencyDigits(currency) ?? 0
  return digits === 0 ? '0' : `0.${'0'.repeat(digits)}`
}
