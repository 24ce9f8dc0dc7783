// How long an embedded server may take until it answers.

/**
 * PostgreSQL, Meilisearch and Redis answer within a second or two. PostgreSQL may first have to
 * recover from a crash and Meilisearch to open a large database, on a machine that is busy. A
 * server that takes longer has failed: it is stopped, and the error shows the end of its log.
 */
export const startupTimeoutMs = 60_000

/** How often a starting server is asked whether it answers. */
export const startupPollMs = 25

/** How long one such question may take. */
export const startupProbeTimeoutMs = 2_000
