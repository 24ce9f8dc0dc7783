// The intervals and delays of the dashboard, in milliseconds.

/** The statistics are requested at this interval while the page is visible. */
export const pollIntervalMs = 5_000

/** What people search for is requested at this interval, with the statistics. */
export const searchReportIntervalMs = 60_000

/**
 * Customers and products are requested again after at least this time, if the statistics have
 * changed.
 */
export const breakdownIntervalMs = 15_000

/** After a failure the interval doubles with each further failure, up to this maximum. */
export const maxRetryDelayMs = 60_000

/** A changed date is applied after a pause, because typing a date changes it several times. */
export const dateInputDelayMs = 500

/** The age of the data and the seconds until a retry are updated at this interval. */
export const clockIntervalMs = 1_000

/** A downloaded file is released from memory after this time. The browser has read it by then. */
export const downloadUrlLifetimeMs = 10_000
