// The acceptance rates: the share of quotes that customers accepted.
import { divide } from './exact-decimals.ts'
import type { Stats } from './schema.ts'

const decimals = 4

/**
 * `ofSent` divides by every quote that reached a customer, `ofDecided` by those that are no longer
 * open. Both have four decimals and are null if the denominator is zero.
 */
export function acceptanceRates({
  sent,
  accepted,
  rejected,
  expired,
}: Stats['quotes']['byStatus']): Stats['quotes']['acceptance'] {
  const decided = accepted + rejected + expired
  return {
    ofSent: divide(accepted, sent + decided, decimals),
    ofDecided: divide(accepted, decided, decimals),
  }
}
