// How many products the palette shows.

/** The number of products without the attribute `limit`. */
export const defaultLimit = 8
/** The maximum `limit` of the search endpoint. */
export const maxLimit = 50
