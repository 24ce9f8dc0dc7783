// The Cache-Control headers that several routes share.

/** For responses that nobody may store. */
export const noStore = 'private, no-store'
