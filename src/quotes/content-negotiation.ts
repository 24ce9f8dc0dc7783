// The representations of a quote (page, JSON, PDF) and the choice between them.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'

export const mediaTypes = { html: 'text/html', json: 'application/json', pdf: 'application/pdf' }
export type Representation = keyof typeof mediaTypes
const representations = Object.keys(mediaTypes) as Representation[]

type NegotiableRequest = { headers: IncomingHttpHeaders; query: unknown }

/**
 * Returns the representation that ?format= or else Accept asks for, the page without either.
 * Returns null if the quote has no such representation.
 */
export function chooseRepresentation({ headers, query }: NegotiableRequest): Representation | null {
  const { format } = query as { format?: unknown }
  if (format !== undefined) return representations.find((name) => name === format) ?? null
  const mediaType = new Negotiator({ headers }).mediaType(Object.values(mediaTypes))
  return representations.find((name) => mediaTypes[name] === mediaType) ?? null
}

/**
 * Returns true if an error should be a page: the request asks for the page, or it asks for the PDF
 * and prefers HTML to problem+json, as a browser does.
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
