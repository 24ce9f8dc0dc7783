// The maximum number of connections to PostgreSQL of each program.

/**
 * The connections of an API process for everything except the uses below. DATABASE_CONNECTIONS
 * overrides it.
 */
export const defaultConnections = 10

/**
 * How many searches PostgreSQL runs at the same time while the search engine is unavailable. Each
 * takes a core of PostgreSQL, which keys, statistics and quote links need too.
 */
export const searchConnections = 2
