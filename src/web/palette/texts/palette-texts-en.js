// The English texts of the palette.

/** @type {import('../palette.d.ts').PaletteTexts} */
export default {
  title: 'Search products',
  list: 'Products',
  close: 'Close: esc',
  favourites: 'Favourites',
  recent: 'Recent',
  popular: 'Most quoted',
  count: (shown, total) => {
    if (total === 1) return '1 result'
    const of = shown < total ? `${shown} of ` : ''
    return `${of}${total >= 1000 ? '1000 or more' : total} results`
  },
  nothing: (query) => `Nothing found for “${query}”`,
  advice: 'Try fewer letters, another word or the code.',
  chosen: (name) => `Chosen: ${name}`,
  notChosen: (query) => `Nothing chosen: the list is not yet for “${query}”.`,
  marked: (name) => `Favourite: ${name}`,
  unmarked: (name) => `No longer a favourite: ${name}`,
  deleted: (name) => `“${name}” is no longer in the catalogue`,
  degraded: 'Fallback search: results may be incomplete',
  didYouMean: 'Did you mean this?',
  inexact: (name) => `Not exact: Enter again chooses “${name}”`,
  copied: (sku) => `Copied: ${sku}`,
  more: (count) => `Show ${count} more`,
  failures: {
    offline: 'Offline. Continues when the connection is back.',
    unreachable: 'The search cannot be reached. Retrying…',
    unavailable: 'The search is not available. Retrying…',
    refused: 'The search is not valid.',
    unauthenticated: 'No access: the key is missing or invalid.',
    forbidden: 'No access: this key may not search here.',
  },
  limited: (seconds) => `Too many searches. Continues in ${seconds} s.`,
  hints: {
    move: 'move',
    choose: 'choose',
    chooseMore: 'choose and continue',
    favourite: 'favourite',
    copy: 'copy the SKU',
  },
}
