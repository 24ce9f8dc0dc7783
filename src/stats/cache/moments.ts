// Moments on the monotonic clock of this process, and their conversion to the time of day.

/**
 * Milliseconds of performance.now(). Ages are differences of moments, so that an adjusted system
 * clock does not change them. Another process has another clock: Redis stores Date.now() instead.
 */
export type Moment = number

/** Converts a time of Date.now() to a moment. A time in the future becomes now. */
export function toMoment(epochMs: number): Moment {
  return performance.now() - Math.max(0, Date.now() - epochMs)
}

/** Converts a moment to a time of Date.now(). */
export function toEpochMs(moment: Moment): number {
  return Date.now() - (performance.now() - moment)
}

/** Returns a moment as RFC 3339 text, rounded down to the second. */
export function formatMoment(moment: Moment): string {
  return new Date(Math.floor(toEpochMs(moment) / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
}
