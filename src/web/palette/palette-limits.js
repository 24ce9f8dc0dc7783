// How many products the palette shows and stores.

/** The number of products without the attribute `limit`. */
export const defaultLimit = 8
/** The maximum `limit` of the search endpoint. */
export const maxLimit = 50
/** How many results the last option adds. */
export const moreCount = 20

/** How many of the products that were chosen last are stored. */
export const maxRecents = 5
/** How many products a user can mark as favourites. */
export const maxFavourites = 50
