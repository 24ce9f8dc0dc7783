// How many products the palette shows.

/** The number of products without the attribute `limit`. */
export const defaultLimit = 8
/** The maximum `limit` of the search endpoint. */
export const maxLimit = 50

/** How many results the last option adds. */
export const moreCount = 20
