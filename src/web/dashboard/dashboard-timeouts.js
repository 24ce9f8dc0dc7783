// The waiting times of the dashboard except its poll interval, in milliseconds.

/** A changed date is applied after a pause, because typing a date changes it several times. */
export const dateInputDelayMs = 500

/** The age of the data and the seconds until a retry are updated at this interval. */
export const clockIntervalMs = 1_000

/** How long the browser can read a downloaded file before its memory is released. */
export const downloadUrlLifetimeMs = 10_000
