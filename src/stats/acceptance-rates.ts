// The acceptance rates: the share of quotes, and of their value, that customers accepted.
import { add, divide } from './exact-decimals.ts'
import type { Stats } from './schema.ts'
import type { GroupTotals } from './summary/period-totals.ts'

const decimals = 4

/**
 * Returns the rates by number of quotes and by value. `ofSent` divides by every quote that was
 * sent, whatever became of it; `ofDecided` only by those that are no longer open. `ofSentValue` and
 * `ofDecidedValue` divide the net of the same quotes in the base currency. Each rate has four
 * decimals, and is null if its denominator is zero.
 */
export function acceptanceRates({
  stillOpen,
  accepted,
  rejected,
  expired,
  open,
  won,
  lost,
}: GroupTotals): Stats['quotes']['acceptance'] {
  const decided = accepted + rejected + expired
  const decidedValue = add(won, lost)
  return {
    ofSent: divide(accepted, stillOpen + decided, decimals),
    ofDecided: divide(accepted, decided, decimals),
    ofSentValue: divide(won, add(open, decidedValue), decimals),
    ofDecidedValue: divide(won, decidedValue, decimals),
  }
}
