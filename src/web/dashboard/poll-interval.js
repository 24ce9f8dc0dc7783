// How often the dashboard requests the statistics, in milliseconds.

export const pollIntervalMs = 5_000

/** After a failure the interval doubles with each further failure, up to this maximum. */
export const maxRetryDelayMs = 60_000
