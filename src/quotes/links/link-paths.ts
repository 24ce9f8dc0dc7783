// Recognizes paths of quote links, and replaces malformed ones: for example those without a token,
// or with an incomplete percent escape. The visitor then gets the same 404 as for any unknown link.
import { quoteLinkBase } from '../../http/endpoint-paths.ts'

/** Longer than any token. Shorter than what Fastify matches (maxParamLength, 500). */
const maxTokenLength = 100
const linkPath = new RegExp(`^${quoteLinkBase}([/?]|$)`)
const wellFormedPath = new RegExp(`^${quoteLinkBase}/[A-Za-z0-9_-]{1,${maxTokenLength}}([?]|$)`)
const unknownLinkPath = `${quoteLinkBase}/-`

/** Returns whether a URL is /quote/share or below it. */
export function isLinkUrl(url: string): boolean {
  return linkPath.test(url)
}

/**
 * Returns the path of an unknown link, with the same query, for a malformed URL of a quote link. A
 * well-formed one has 1 to 100 token characters after /quote/share/. Returns every other URL
 * unchanged.
 */
export function replaceMalformedLinkPath(url: string): string {
  if (!isLinkUrl(url) || wellFormedPath.test(url)) return url
  const query = url.indexOf('?')
  return query === -1 ? unknownLinkPath : unknownLinkPath + url.slice(query)
}
