// Which requests are rejected first while the event loop is delayed.

/**
 * Multiplies the event loop delay above which requests for quote links are rejected. Searches and
 * statistics have 1. Opening a quote matters more than a search that runs while somebody types.
 */
export const quoteLinkDelayFactor = 4
