// Exact sums, differences and ratios of decimal strings, and the sums of the months of a year.

import type { IntervalKind, Period } from './periods.ts'
import type { Stats } from './requests.ts'

type Group = Omit<Stats['byMonth'][number], 'month' | 'partial'>
/** A day, a month or a year of the timeline. */
export type Interval = Group & { name: string; isPartial: boolean }

/** Returns the intervals of the timeline. */
export function intervalsOf(
  { byDay = [], byMonth, period }: Stats,
  kind: IntervalKind,
): Interval[] {
  if (kind === 'day')
    return byDay.map(({ day, partial, ...group }) => ({ ...group, name: day, isPartial: partial }))
  const months = byMonth.map(({ month, partial, ...group }) => ({
    ...group,
    name: month,
    isPartial: partial,
  }))
  return kind === 'year' ? groupByYear(months, period) : months
}

function groupByYear(months: Interval[], { from, to }: Period): Interval[] {
  const monthsByYear = Map.groupBy(months, ({ name }) => name.slice(0, 4))
  return [...monthsByYear].map(([year, months]) => ({
    ...(months as Group[]).reduce(addGroups),
    name: year,
    isPartial:
      months.some(({ isPartial }) => isPartial) || `${year}-01-01` < from || `${year}-12-31` > to,
  }))
}

/** Adds two groups. Rates are those of the sums. */
function addGroups(a: Group, b: Group): Group {
  const byStatus = forEachName(a.byStatus, (status) => a.byStatus[status] + b.byStatus[status])
  const money = forEachName(a.money, (outcome) => ({
    amount: sum([a.money[outcome].amount, b.money[outcome].amount]),
    currency: a.revenue.currency,
  }))
  const { sent, accepted, rejected, expired } = byStatus
  const decided = accepted + rejected + expired
  const [open, won, lost] = [money.open.amount, money.won.amount, money.lost.amount]
  return {
    quotes: a.quotes + b.quotes,
    accepted,
    revenue: money.won,
    byStatus,
    money,
    acceptance: {
      ofSent: ratio(String(accepted), String(sent + decided)),
      ofDecided: ratio(String(accepted), String(decided)),
      ofSentValue: ratio(won, sum([open, won, lost])),
      ofDecidedValue: ratio(won, sum([won, lost])),
    },
    // The days of several months have no common median.
    daysToDecision: { quotes: 0, mean: null, median: null },
  }
}

/** Returns an object with the names of another one. */
function forEachName<Names extends object, Value>(
  names: Names,
  create: (name: keyof Names) => Value,
): Record<keyof Names, Value> {
  const entries = Object.keys(names).map((name) => [name, create(name as keyof Names)])
  return Object.fromEntries(entries)
}

/** Returns the sum, with as many decimals as the most precise summand. */
export function sum(decimals: string[]): string {
  const digits = Math.max(0, ...decimals.map(countDigits))
  const total = decimals.reduce((total, decimal) => total + scale(decimal, digits), 0n)
  return formatScaled(total, digits)
}

/** Returns `a` minus `b`. */
export function subtract(a: string, b: string): string {
  const digits = Math.max(countDigits(a), countDigits(b))
  return formatScaled(scale(a, digits) - scale(b, digits), digits)
}

const ratioDigits = 4

/**
 * Returns `part` divided by `whole` with four decimals, rounded half away from zero, or null if
 * `whole` is zero. `whole` must not be negative.
 */
export function ratio(part: string, whole: string): string | null {
  const digits = Math.max(countDigits(part), countDigits(whole))
  const divisor = scale(whole, digits)
  if (divisor === 0n) return null
  const dividend = scale(part, digits + ratioDigits)
  const half = dividend < 0n ? -divisor : divisor
  return formatScaled((2n * dividend + half) / (2n * divisor), ratioDigits)
}

const countDigits = (decimal: string) => decimal.split('.')[1]?.length ?? 0

/** Returns the decimal times 10 to the power of `digits`. */
function scale(decimal: string, digits: number): bigint {
  const [whole = '', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

function formatScaled(value: bigint, digits: number): string {
  const sign = value < 0n ? '-' : ''
  const text = String(value < 0n ? -value : value).padStart(digits + 1, '0')
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}
