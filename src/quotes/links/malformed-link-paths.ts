// Replaces paths of quote links that the router cannot parse, for example an incomplete percent
// escape, or that have no token, so that the visitor gets the same 404 as for any unknown link.

const linkPath = /^\/quote\/share([/?]|$)/
const wellFormedPath = /^\/quote\/share\/[A-Za-z0-9_-]{1,100}(\?|$)/
const unknownLinkPath = '/quote/share/-'

/** Returns whether the path of a URL is that of quote links, with or without a token. */
export function isLinkUrl(url: string): boolean {
  return linkPath.test(url)
}

/**
 * Returns a URL unchanged if /quote/share/ is followed by 1 to 100 token characters. Otherwise,
 * also without a token, returns the path of an unknown link with the same query. Other paths are
 * returned unchanged.
 */
export function replaceMalformedLinkPath(url: string): string {
  if (!isLinkUrl(url) || wellFormedPath.test(url)) return url
  const query = url.indexOf('?')
  return query === -1 ? unknownLinkPath : unknownLinkPath + url.slice(query)
}
