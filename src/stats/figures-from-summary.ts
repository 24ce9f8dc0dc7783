// The figures over quotes, read from the summary: whole months from the month grain, cut edges by days, and what is not folded yet.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { addDays, getMonthBounds } from '../company/calendar.ts'
import type { Company } from '../company/company.ts'
import { getCurrencyDigits, type Money } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import { type FiguresRequest, readAnswer, type Source, type Sums, zero } from './assemble-stats.ts'
import { type Position, readPosition } from './data-version.ts'
import type { Period, Stats } from './schema.ts'

/**
 * Computes the figures in one snapshot, and says at which position of the data they are. Revenue is the net of accepted quotes; each is converted on
 * its own, rounded half up to the base currency's digits, and then summed.
 */
export async function readFigures(
  db: Kysely<Tables>,
  company: Company,
  request: FiguresRequest,
): Promise<{ figures: Stats; position: Position }> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      // Before the snapshot is taken: a truncate between two of the statements below would show through it.
      // A few milliseconds of work: starting workers would cost as much again.
      await sql`
        lock table quote_summary, quote_deltas, quote_figures, quote_validity in access share mode;
        set local max_parallel_workers_per_gather = 0
      `.execute(transaction)
      const position = await readPosition(transaction)
      return { figures: await readAnswer(transaction, company, request, summaryFigures), position }
    })
}

/** What it reads grows with days, countries and currencies, not with quotes. */
export const summaryFigures: Source = { readBounds, readSums }

const quotesOfCell = sql`drafts + sent + accepted + rejected + expired`
const monthOf = (day: RawBuilder<unknown>) => sql`date_trunc('month', ${day}::timestamp)::date`

/** Cells of the wanted kind of date and country. An unknown country is the empty one, as a key cannot hold null. */
function wanted({ date, country }: FiguresRequest) {
  const own = sql`date_kind = ${date}`
  return country === undefined
    ? own
    : sql`${own} and country = ${country === 'unknown' ? '' : country}`
}

/**
 * First and last day with a quote. A folded day without unfolded deltas has one, so the index finds the outermost of those; days with deltas may
 * have been emptied, and are counted. The outermost month only keeps a rare country from being looked for day by day.
 */
async function readBounds(db: Kysely<Tables>, request: FiguresRequest) {
  const months = sql`from quote_figures where grain = 'month' and ${wanted(request)}`
  const untouched = (since: RawBuilder<unknown>, order: RawBuilder<unknown>) => sql`
    select starts_on from quote_figures f
    where grain = 'day' and ${wanted(request)} and ${since}
      and not exists (select from quote_deltas d where ${wanted(request)} and d.day = f.starts_on)
    order by starts_on ${order} limit 1`
  const { rows } = await sql<{ first: string | null; last: string | null }>`
    with touched as (
      select day from quote_deltas d where ${wanted(request)} group by day having sum(${quotesOfCell}) + coalesce((
        select sum(${quotesOfCell}) from quote_figures where grain = 'day' and ${wanted(request)} and starts_on = d.day
      ), 0) > 0
    )
    select
      least((${untouched(sql`starts_on >= (select min(starts_on) ${months})`, sql`asc`)}), (select min(day) from touched)) as first,
      greatest((${untouched(sql`starts_on < (select max(starts_on) ${months}) + interval '1 month'`, sql`desc`)}), (select max(day) from touched)) as last
  `.execute(db)
  return rows[0] ?? { first: null, last: null }
}

type Bounds = Pick<Period, 'from' | 'to'>
type Piece = Bounds & { grain: 'day' | 'month' }

/** An edge that nobody asked for is the data's own: beyond it there is nothing, so the whole month says the same with fewer cells. */
function wholeMonths(request: FiguresRequest, { from, to }: Period): Bounds {
  return {
    from: request.from === undefined ? `${from.slice(0, 7)}-01` : from,
    to: request.to === undefined ? getMonthBounds(to.slice(0, 7)).last : to,
  }
}

/** A period as whole months, and the days at its cut edges. Counts no day beyond it: there may be none that can be written. */
function piecesOf({ from, to }: Bounds): Piece[] {
  const [firstMonth, lastMonth] = [from.slice(0, 7), to.slice(0, 7)]
  const [startsWhole, endsWhole] = [from.endsWith('-01'), to === getMonthBounds(lastMonth).last]
  if (firstMonth === lastMonth && !(startsWhole && endsWhole)) return [{ grain: 'day', from, to }]
  const pieces: Piece[] = []
  const start = startsWhole ? from : addDays(getMonthBounds(firstMonth).last, 1)
  const end = endsWhole ? to : addDays(`${lastMonth}-01`, -1)
  if (!startsWhole) pieces.push({ grain: 'day', from, to: addDays(start, -1) })
  if (start <= end) pieces.push({ grain: 'month', from: start, to: end })
  if (!endsWhole) pieces.push({ grain: 'day', from: addDays(end, 1), to })
  return pieces
}

function cellsOf(request: FiguresRequest, period: Bounds) {
  const folded = piecesOf(period).map(
    ({ grain, from, to }) => sql`
      select ${grain === 'month' ? sql`starts_on` : monthOf(sql`starts_on`)} as month, country, currency, ${measures} from quote_figures
      where grain = ${grain} and ${wanted(request)} and starts_on between ${from} and ${to}`,
  )
  const unfolded = sql`
      select ${monthOf(sql`day`)} as month, country, currency, ${measures} from quote_deltas
      where ${wanted(request)} and day between ${period.from} and ${period.to}`
  return sql.join([...folded, unfolded], sql` union all `)
}

/**
 * Sent quotes whose last day is not over: few, where those that have lapsed are as many as there were ever. Coming months come whole; the days of
 * the current month are told one by one. Those without a last day stand under infinity.
 */
function standingOf(request: FiguresRequest, period: Bounds) {
  const lastOfMonth = getMonthBounds(request.today.slice(0, 7)).last
  const country =
    request.country === undefined
      ? sql``
      : sql`and country = ${request.country === 'unknown' ? '' : request.country}`
  const folded = piecesOf(period).flatMap(({ grain, from, to }) =>
    [
      sql`valid_grain = 'month' and valid_from > ${lastOfMonth}`,
      sql`valid_grain = 'day' and valid_from between ${request.today} and ${lastOfMonth}`,
    ].map(
      (standing) =>
        sql`select quotes from quote_validity where issued_grain = ${grain} and ${standing} and issued_from between ${from} and ${to} ${country}`,
    ),
  )
  const unfolded = sql`
    select sent from quote_deltas
    where ${wanted(request)} and day between ${period.from} and ${period.to} and coalesce(valid_until, 'infinity') >= ${request.today}`
  return sql`select coalesce(sum(quotes), 0) as quotes from (${sql.join([...folded, unfolded], sql` union all `)}) sent_quotes`
}

type Row = {
  level: number
  month: string | null
  country: string | null
  currency: string | null
  quotes: string
  drafts: string
  sent: string
  accepted: string
  rejected: string
  expired: string
  standing: string
  revenue: string
  net: string | null
  unconverted: string
  unconvertedNet: string | null
}

/** grouping(country, currency): a bit is set for each one that a row is not grouped by. Months are none of these. */
const levels = { total: 0b11, country: 0b01, currency: 0b10, month: -1 }

const names = [
  'drafts',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'net',
  'base_net',
  'unconverted',
  'unconverted_net',
]
const measures = sql.raw(names.join(', '))
// Nearly every cell has nothing unconverted, and adding nothing to a numeric costs as much as adding something.
const sumOf = (name: string) =>
  `sum(${name})${name === 'unconverted_net' ? ' filter (where unconverted <> 0)' : ''} as ${name}`
const summed = sql.raw(names.map(sumOf).join(', '))

async function readSums(
  db: Kysely<Tables>,
  company: Company,
  request: FiguresRequest,
  period: Period,
): Promise<Sums> {
  const base = company.baseCurrency
  const bounds = wholeMonths(request, period)
  const digits = sql`${getCurrencyDigits(base)}::integer`
  const { rows } = await sql<Row>`
    with parts as (
      select grouping(month) as of_pair, month, country, currency, ${summed}
      from (${cellsOf(request, bounds)}) cells group by grouping sets ((month), (country, currency))
    ), sums as (
      -- Pairs are few: rolling them up costs next to nothing, where a grouping set each would go over every cell again.
      select grouping(country, currency) as level, null::date as month, country, currency, sum(${quotesOfCell}) as quotes, ${summed}
      from parts where of_pair = 1 group by grouping sets ((), (country), (currency))
      union all
      select ${levels.month}, month, null, null, ${quotesOfCell}, ${measures} from parts where of_pair = 0
    ), standing as (${request.date === 'issued' ? standingOf(request, bounds) : sql`select 0 as quotes`})
    select level, to_char(month, 'YYYY-MM') as month, nullif(country, '') as country, currency, s.quotes, drafts, sent, accepted, rejected, expired,
      standing.quotes as standing, round(base_net, ${digits}) as revenue, round(net, currency_digits(currency)) as net, unconverted,
      round(unconverted_net, currency_digits(currency)) as "unconvertedNet"
    from sums s cross join standing
    where s.quotes > 0
    order by base_net desc, nullif(country, '') nulls last, month, currency
  `.execute(db)

  const of = (level: number) => rows.filter((row) => row.level === level)
  const inBase = (amount: string): Money => ({ amount, currency: base })
  const counts = (row: Row) => ({
    quotes: Number(row.quotes),
    accepted: Number(row.accepted),
    revenue: inBase(row.revenue),
  })
  const [total] = of(levels.total)
  const [sent, standing] = [Number(total?.sent ?? 0), Number(total?.standing ?? 0)]
  return {
    byStatus: {
      draft: Number(total?.drafts ?? 0),
      sent: standing,
      accepted: Number(total?.accepted ?? 0),
      rejected: Number(total?.rejected ?? 0),
      // A sent quote has expired by itself once its last day is over.
      expired: Number(total?.expired ?? 0) + sent - standing,
    },
    total: inBase(total?.revenue ?? zero(base)),
    converted: Number(total?.accepted ?? 0) - Number(total?.unconverted ?? 0),
    byCurrency: of(levels.currency).flatMap(({ currency, net, accepted }) =>
      inOwn(net, currency, accepted),
    ),
    unconverted: of(levels.currency)
      .flatMap(({ currency, unconvertedNet, unconverted }) =>
        inOwn(unconvertedNet, currency, unconverted),
      )
      .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    byCountry: of(levels.country).map((row) => ({ country: row.country, ...counts(row) })),
    byMonth: of(levels.month).map((row) => ({ month: row.month ?? '', ...counts(row) })),
  }
}

function inOwn(amount: string | null, currency: string | null, quotes: string) {
  return amount !== null && currency !== null && Number(quotes) > 0
    ? [{ amount, currency, quotes: Number(quotes) }]
    : []
}
