// Chooses the encoding of a response from the Accept-Encoding header.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'

export type ContentEncoding = 'br' | 'gzip' | 'identity'

/** The encodings that compress, the best first. */
const compressing: ContentEncoding[] = ['br', 'gzip']

/** The types of negotiator lack the second parameter. */
type EncodingNegotiator = {
  encoding(available: string[], options: { preferred: string[] }): string | undefined
}

/**
 * Returns the encoding that the client prefers. If it accepts several equally, whatever their order
 * in the header, returns the one that compresses best. Returns `identity` without a header, and if
 * the client accepts none of them.
 */
export function chooseEncoding(headers: IncomingHttpHeaders): ContentEncoding {
  const negotiator: EncodingNegotiator = new Negotiator({ headers })
  const options = { preferred: compressing }
  const chosen = negotiator.encoding([...compressing, 'identity'], options)
  return (chosen as ContentEncoding | undefined) ?? 'identity'
}
