// The stop words of search, Spanish and English: words without a meaning of their own.

/** A name that lacks such a word is not a weaker match. */
export const stopWords = new Set(
  (
    'a al con de del e el en la las lo los o para por sin u un una unos unas y ' +
    'an and at by for from in of on or the to with'
  ).split(' '),
)
