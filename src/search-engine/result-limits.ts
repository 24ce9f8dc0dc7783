// How many hits and facet values a search returns and counts, in an engine and in PostgreSQL.

/** The number of hits without ?limit=, and the largest ?limit=. */
export const defaultHits = 8
export const maxHits = 50
/** The largest ?offset=. */
export const maxOffset = 1000
/** A search counts at most this many hits. */
export const maxTotal = 1000
/**
 * More hits are listed than counted, because a page at the largest offset has up to 50 more. 50 of
 * these 100 are in reserve: this is a setting of the index, and changing it rebuilds the index.
 */
export const maxListed = maxTotal + 100
/** At most this many values of a facet are counted. */
export const maxFacetValues = 100
