// Replaces paths of quote links that the router cannot parse, such as one with an incomplete
// percent escape. The visitor gets the same 404 as for any unknown link.

const linkPrefix = '/quote/share/'
const wellFormedPath = /^\/quote\/share\/[A-Za-z0-9_-]{1,100}(\?|$)/
const unknownLinkPath = `${linkPrefix}-`

/**
 * Returns the URL unchanged, or the path of an unknown link with the same query if what follows
 * /quote/share/ is not a single segment of token characters.
 */
export function replaceMalformedLinkPath(url: string): string {
  if (!url.startsWith(linkPrefix) || wellFormedPath.test(url)) return url
  const query = url.indexOf('?')
  return query === -1 ? unknownLinkPath : unknownLinkPath + url.slice(query)
}
