// The acceptance rates: the share of quotes, and of their value, that customers accepted.
import { add, divide } from './exact-decimals.ts'
import { ratioDecimals, type Stats } from './schema.ts'
import type { GroupTotals } from './summary/period-totals.ts'

/**
 * Returns the rates by number of quotes and by value. `ofSent` divides by every quote that was
 * sent, whatever became of it. `ofDecided` divides by those that are no longer open: accepted,
 * rejected and expired quotes. `ofSentValue` and `ofDecidedValue` divide the net of these quotes in
 * the base currency. A rate is null if its denominator is zero.
 */
export function computeAcceptanceRates({
  byStatus: { sent, accepted, rejected, expired },
  money: { open, won, lost },
}: GroupTotals): Stats['quotes']['acceptance'] {
  const noLongerOpen = accepted + rejected + expired
  const noLongerOpenNet = add(won, lost)
  return {
    ofSent: divide(accepted, sent + noLongerOpen, ratioDecimals),
    ofDecided: divide(accepted, noLongerOpen, ratioDecimals),
    ofSentValue: divide(won, add(open, noLongerOpenNet), ratioDecimals),
    ofDecidedValue: divide(won, noLongerOpenNet, ratioDecimals),
  }
}
