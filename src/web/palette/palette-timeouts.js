// The timeouts, delays and intervals of the palette, in milliseconds.

/** A request is aborted after this time. */
export const requestTimeoutMs = 8_000

/** A response is reused for the same query during this time. */
export const cacheMaxAgeMs = 60_000

/** The delay before a failed request is repeated. It doubles with each failure. */
export const firstRetryDelayMs = 1_000
export const maxRetryDelayMs = 15_000

/** Screen readers announce the number of results after this pause in typing, not at each key. */
export const announcementDelayMs = 600

/** How often the seconds that remain of a rate limit are updated. */
export const countdownIntervalMs = 500

/**
 * Results that do not answer what is typed are dimmed after this time. A fast response is first.
 */
export const dimDelayMs = 150
