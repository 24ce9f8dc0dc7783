// The figures of a group of quotes, such as those of a period, a country or a month: the columns of
// quote_figures that are added up, and what becomes of them in the response. A new figure is a
// column there, an expression in the SQL function `quote_figures_of`, and its name in these lists.
import { type Static, Type } from '@sinclair/typebox'
import { Nullable } from '../api-docs/nullable-schema.ts'
import { requireCurrencyDigits } from '../company/currencies.ts'
import { Money } from '../company/money.ts'
import { countedStatuses, outcomeDescriptions, outcomes } from '../database/quote-statuses.ts'
import type { Figures } from '../database/table-types.ts'
import { computeDaysToDecision } from './days-to-decision.ts'
import { add, divide } from './exact-decimals.ts'

export const countColumns = [
  'quotes',
  ...countedStatuses,
  'unconverted',
  'decided',
  'decision_days',
  'decision_histogram',
] as const
/** Amounts in the base currency, without the quotes that have no rate. */
export const baseAmountColumns = outcomes.map((outcome) => `${outcome}_net` as const)
/** Amounts in the currency of the quotes. */
const ownAmountColumns = ['own_net', 'unconverted_net'] as const
export const summedColumns = [...countColumns, ...baseAmountColumns, ...ownAmountColumns]

/** The figures of a group as decimal text. Amounts have the digits of the base currency. */
export type FigureTexts = Omit<Figures, (typeof ownAmountColumns)[number]>

/** The number of decimals of every rate and change. */
export const ratioDecimals = 4
export const RatioText = (description: string) =>
  Nullable(
    Type.String({ pattern: '^-?[0-9]+\\.[0-9]{4}$', description: `${description}; four decimals` }),
  )
const DaysText = (description: string) =>
  Nullable(Type.String({ pattern: '^[0-9]+\\.[0-9]$', description: `${description}; one decimal` }))
export const Count = Type.Integer({ minimum: 0 })

/** The part of the response that is the same for a period, a country, a month and a day. */
export const outcomeProperties = {
  byStatus: Type.Object(
    forEach(countedStatuses, () => Count),
    { description: 'Numbers of quotes. A sent quote counts as expired when its validity is over' },
  ),
  money: Type.Object(
    forEach(outcomes, () => Money),
    {
      description: `Net in the base currency. ${outcomes
        .map((outcome) => `${outcome}: ${outcomeDescriptions[outcome]}`)
        .join('; ')}`,
    },
  ),
  acceptance: Type.Object(
    {
      ofSent: RatioText('accepted ÷ (sent + accepted + rejected + expired)'),
      ofDecided: RatioText('accepted ÷ (accepted + rejected + expired)'),
      ofSentValue: RatioText('won ÷ (open + won + lost)'),
      ofDecidedValue: RatioText('won ÷ (won + lost)'),
    },
    { description: 'By number of quotes and by value; null if the denominator is zero' },
  ),
  daysToDecision: Type.Object(
    {
      quotes: Type.Integer({
        minimum: 0,
        description: 'Accepted and rejected quotes with a day of decision',
      }),
      mean: DaysText('Rounded half up'),
      median: DaysText('The middle value, or the mean of the two middle values; at most 1000.0'),
    },
    { description: 'Days from issue to decision; null without such quotes' },
  ),
}

/** What the response says about each country, month and day. */
export const Group = Type.Object({
  quotes: Count,
  accepted: Count,
  revenue: Money,
  ...outcomeProperties,
})
export type Group = Static<typeof Group>

/** Returns what the response says about a group of quotes. */
export function toGroup(figures: FigureTexts, currency: string): Group {
  const byStatus = forEach(countedStatuses, (status) => Number(figures[status]))
  const money = forEach(outcomes, (outcome) => ({ amount: figures[`${outcome}_net`], currency }))
  return {
    quotes: Number(figures.quotes),
    accepted: byStatus.accepted,
    revenue: money.won,
    byStatus,
    money,
    acceptance: computeAcceptance({ byStatus, money }),
    daysToDecision: computeDaysToDecision({
      quotes: Number(figures.decided),
      days: Number(figures.decision_days),
      histogram: figures.decision_histogram,
    }),
  }
}

/** The group without quotes. */
export function createEmptyGroup(currency: string): Group {
  const zero = divide(0, 1, requireCurrencyDigits(currency)) ?? ''
  const counts = forEach(countColumns, () => '0')
  return toGroup({ ...counts, ...forEach(baseAmountColumns, () => zero) }, currency)
}

/**
 * Returns the share of quotes, and of their value, that customers accepted. `ofSent` divides by
 * every quote that was sent, whatever its customer decided, and `ofDecided` by those that are no
 * longer open. A rate is null if its denominator is zero.
 */
export function computeAcceptance({
  byStatus: { sent, accepted, rejected, expired },
  money: { open, won, lost },
}: Pick<Group, 'byStatus' | 'money'>): Group['acceptance'] {
  const decided = accepted + rejected + expired
  const decidedNet = add(won.amount, lost.amount)
  const rate = (part: number | string, whole: number | string) => divide(part, whole, ratioDecimals)
  return {
    ofSent: rate(accepted, sent + decided),
    ofDecided: rate(accepted, decided),
    ofSentValue: rate(won.amount, add(open.amount, decidedNet)),
    ofDecidedValue: rate(won.amount, decidedNet),
  }
}

/** Returns an object with these names, in order. */
export function forEach<Name extends string, Value>(
  names: readonly Name[],
  create: (name: Name) => Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, create(name)])) as Record<Name, Value>
}
