// How long an embedded server may take to start.

/**
 * PostgreSQL, Meilisearch and Redis start within a second or two. It takes longer on a busy
 * machine, after a crash of PostgreSQL, or with a large database of Meilisearch. A server that
 * takes longer than this has failed: it is stopped, and the error shows the end of its log.
 */
export const startupTimeoutMs = 60_000

/** The interval between two probes of a starting server. */
export const startupPollMs = 25

/** How long one probe may take. */
export const startupProbeTimeoutMs = 2_000
