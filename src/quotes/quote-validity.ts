// Decides whether a quote is past its validity. Such a quote is shown as expired.
import { toLocalDate } from '../company/calendar.ts'
import type { SharedQuote } from './schema.ts'

type Now = { timeZone: string; now: Date }

/** Returns the status that a link shows: a sent quote past its validity is expired. */
export function showStatus(
  status: SharedQuote['status'],
  validUntil: string | null,
  now: Now,
): SharedQuote['status'] {
  return status === 'sent' && isPastValidity(validUntil, now) ? 'expired' : status
}

/**
 * Returns whether the last valid day (YYYY-MM-DD) is over. A quote is valid until the end of that
 * day in the seller's time zone, and always without one.
 */
function isPastValidity(validUntil: string | null, { timeZone, now }: Now): boolean {
  return validUntil !== null && validUntil < toLocalDate(timeZone, now)
}
