// Which requests are rejected first while the event loop is delayed.

/**
 * The `maxDelayFactor` of quote links. Searches and statistics have 1. So requests for quote links
 * are rejected only above four times the event loop delay: opening a quote matters more than a
 * search that runs while somebody types.
 */
export const quoteLinkDelayFactor = 4
