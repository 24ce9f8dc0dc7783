// Decides which status a link shows: a sent quote that is past its validity is shown as expired.
import { toLocalDate } from '../../company/calendar.ts'
import type { SharedQuote } from '../schema.ts'

type Now = { timeZone: string; now: Date }

/** Returns `expired` for a sent quote that is past its validity, and otherwise its status. */
export function getEffectiveStatus(
  status: SharedQuote['status'],
  validUntil: string | null,
  now: Now,
): SharedQuote['status'] {
  return status === 'sent' && isPastValidity(validUntil, now) ? 'expired' : status
}

/**
 * Returns whether the last valid day (YYYY-MM-DD) is over in the seller's time zone. A quote
 * without a last valid day never expires.
 */
function isPastValidity(validUntil: string | null, { timeZone, now }: Now): boolean {
  return validUntil !== null && validUntil < toLocalDate(timeZone, now)
}
