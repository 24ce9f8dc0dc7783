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
  const format = readLinkParameter(query, 'format')
  if (format !== undefined) return representations.find((name) => name === format) ?? null
  const mediaType = negotiate(headers).mediaType(Object.values(mediaTypes))
  return representations.find((name) => mediaTypes[name] === mediaType) ?? null
}

/** Treats an empty Accept header as a missing one, which accepts everything. */
function negotiate({ accept }: IncomingHttpHeaders): Negotiator {
  return new Negotiator({ headers: accept?.trim() ? { accept } : {} })
}

/** The media types with which a program requests a problem as JSON. */
const jsonTypes = ['application/json', 'application/problem+json']

/**
 * Returns whether an error should be sent as a page. Returns false if ?format= is json, or if the
 * Accept header prefers JSON to a page.
 */
export function prefersErrorPage({ headers, query }: NegotiableRequest): boolean {
  const format = readLinkParameter(query, 'format')
  if (format === 'json') return false
  if (format === 'html') return true
  const preferred = negotiate(headers).mediaType([mediaTypes.html, ...jsonTypes])
  return preferred === undefined || !jsonTypes.includes(preferred)
}

/**
 * Returns the value of a parameter, or undefined. Returns the first value of a repeated parameter,
 * because email tools append parameters to links.
 */
export function readLinkParameter(query: unknown, name: 'format' | 'lang'): unknown {
  const value = (query as { [key in typeof name]?: unknown })[name]
  return Array.isArray(value) ? value[0] : value
}
