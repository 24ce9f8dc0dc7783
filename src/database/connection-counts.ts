// How many connections to PostgreSQL each program opens at most.

/** Of an API process, for everything but the uses below. DATABASE_CONNECTIONS replaces it. */
export const defaultConnections = 10

/**
 * Searches that PostgreSQL answers at the same time while the search engine is unavailable. Each
 * takes a core of PostgreSQL, which keys, statistics and quote links need too.
 */
export const searchConnections = 2

/** Of an API process to the replica. As many statistics and documents are read at a time. */
export const replicaConnections = 6

/** Of the process that renders large pages for an API process, one at a time. */
export const largePageConnections = 1
