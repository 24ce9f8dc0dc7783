// Reads from a request which format and language of a quote it is for: ?format=, ?lang= and Accept.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import { type Language, languages } from '../texts/languages.ts'
import { getLanguage, type Locale, parseLocale } from './formats.ts'

/** In the order of preference if a request accepts several formats equally. */
export const mediaTypes = { html: 'text/html', json: 'application/json', pdf: 'application/pdf' }
export type Format = keyof typeof mediaTypes
const formats = Object.keys(mediaTypes) as Format[]

type NegotiableRequest = { headers: IncomingHttpHeaders; query: unknown }

/**
 * Returns the format that ?format= names. Without ?format= returns the one that Accept prefers, and
 * without Accept the page. Returns null if a quote has no such format.
 */
export function getRequestedFormat({ headers, query }: NegotiableRequest): Format | null {
  const format = readLinkParameter(query, 'format')
  if (format !== undefined)
    return formats.find((name) => name === String(format).toLowerCase()) ?? null
  const mediaType = negotiate(headers).mediaType(Object.values(mediaTypes))
  return formats.find((name) => mediaTypes[name] === mediaType) ?? null
}

/**
 * Returns the locale of ?lang=, which may have capitals or a region: "EN", "es-MX". Returns null if
 * the quote should be in its own language.
 */
export function getRequestedLocale(query: unknown): Locale | null {
  const lang = readLinkParameter(query, 'lang')
  return typeof lang === 'string' ? parseLocale(lang) : null
}

export function getRequestedLanguage(query: unknown): Language | null {
  const locale = getRequestedLocale(query)
  return locale && getLanguage(locale)
}

/** The media types with which a program requests a problem as JSON. */
const jsonTypes = ['application/json', 'application/problem+json']

/**
 * Returns whether an error should be sent as a page. ?format=json gives JSON and ?format=html a
 * page. With any other ?format=, or none, the Accept header decides: JSON only if it prefers JSON,
 * otherwise a page.
 */
export function prefersErrorPage({ headers, query }: NegotiableRequest): boolean {
  const format = readLinkParameter(query, 'format')
  if (format === 'json') return false
  if (format === 'html') return true
  const preferred = negotiate(headers).mediaType([mediaTypes.html, ...jsonTypes])
  return preferred === undefined || !jsonTypes.includes(preferred)
}

/**
 * Returns the language of ?lang=. Without it, returns the one that Accept-Language prefers, or
 * `fallback` if it prefers none.
 */
export function chooseErrorPageLanguage(
  { headers, query }: NegotiableRequest,
  fallback: Language,
): Language {
  // If the visitor accepts several equally, the negotiator takes the first one that is offered.
  const offered = [fallback, ...languages.filter((language) => language !== fallback)]
  const accepted = new Negotiator({ headers }).language(offered) as Language | undefined
  return getRequestedLanguage(query) ?? accepted ?? fallback
}

/** Treats an empty Accept header as a missing one, which accepts everything. */
function negotiate({ accept }: IncomingHttpHeaders): Negotiator {
  return new Negotiator({ headers: accept?.trim() ? { accept } : {} })
}

/**
 * Returns the value of a parameter, or undefined. Returns the first value of a repeated parameter,
 * because email tools append parameters to links.
 */
function readLinkParameter(query: unknown, name: 'format' | 'lang'): unknown {
  const value = (query as { [key in typeof name]?: unknown })[name]
  return Array.isArray(value) ? value[0] : value
}
