// The acceptance rates: the share of quotes, and of their value, that customers accepted.
import { add, divide } from './exact-decimals.ts'
import { ratioDecimals, type Stats } from './schema.ts'
import type { GroupTotals } from './summary/period-totals.ts'

/**
 * Returns the rates by number of quotes and by value. `ofSent` divides by every quote that was
 * sent, whatever became of it; `ofDecided` only by those that are no longer open. `ofSentValue` and
 * `ofDecidedValue` divide the net of these quotes in the base currency. A rate is null if its
 * denominator is zero.
 */
export function computeAcceptanceRates({
  openQuotes,
  accepted,
  rejected,
  expired,
  openNet,
  wonNet,
  lostNet,
}: GroupTotals): Stats['quotes']['acceptance'] {
  const noLongerOpen = accepted + rejected + expired
  const noLongerOpenNet = add(wonNet, lostNet)
  return {
    ofSent: divide(accepted, openQuotes + noLongerOpen, ratioDecimals),
    ofDecided: divide(accepted, noLongerOpen, ratioDecimals),
    ofSentValue: divide(wonNet, add(openNet, noLongerOpenNet), ratioDecimals),
    ofDecidedValue: divide(wonNet, noLongerOpenNet, ratioDecimals),
  }
}
