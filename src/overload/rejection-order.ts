// Which requests are rejected first while the event loop is delayed.

/**
 * A request for a quote link is rejected above this multiple of the delay above which searches and
 * statistics are rejected: opening a quote matters more than a search that runs while somebody
 * types.
 */
export const quoteLinkDelayFactor = 4
