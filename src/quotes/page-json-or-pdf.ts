// Chooses between the page, the JSON and the PDF of a quote from ?format= and Accept.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'

export const mediaTypes = { html: 'text/html', json: 'application/json', pdf: 'application/pdf' }
export type Representation = keyof typeof mediaTypes
const representations = Object.keys(mediaTypes) as Representation[]

type NegotiableRequest = { headers: IncomingHttpHeaders; query: unknown }

/**
 * Returns the representation that ?format= names. Without ?format= returns the one that Accept
 * prefers, and without Accept the page. Returns null if the quote has no such representation.
 */
export function chooseRepresentation({ headers, query }: NegotiableRequest): Representation | null {
  const { format } = query as { format?: unknown }
  if (format !== undefined) return representations.find((name) => name === format) ?? null
  const mediaType = new Negotiator({ headers }).mediaType(Object.values(mediaTypes))
  return representations.find((name) => mediaTypes[name] === mediaType) ?? null
}

/**
 * Returns true if an error should be a page: the request is for the page, or it is for the PDF and
 * its Accept header prefers HTML to problem+json, as that of a browser does.
 */
export function prefersErrorPage(request: NegotiableRequest): boolean {
  const representation = chooseRepresentation(request)
  if (representation !== 'pdf') return representation === 'html'
  const mediaType = new Negotiator({ headers: request.headers }).mediaType([
    'application/problem+json',
    mediaTypes.html,
  ])
  return mediaType === mediaTypes.html
}
