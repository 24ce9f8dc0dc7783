// Chooses JSON or CSV from ?format= and Accept, and the encoding from Accept-Encoding.
import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import { type ContentEncoding, chooseEncoding } from '../http/compressed-content.ts'
import { Problem } from '../http/problem-details.ts'
import type { Format } from './response-body.ts'
import { notAcceptableDetail, type StatsQuery } from './schema.ts'

type Negotiated = { format: 'json' | 'csv' | null; encoding: ContentEncoding }

/** Clients send few different headers. Parsing them takes 10 µs, more than the rest of a hit. */
const negotiatedByHeaders = new LRUCache<string, Negotiated>({ max: 1_000 })
const formats = { 'application/json': 'json', 'text/csv': 'csv' } as const

/**
 * Returns what the client prefers. `format` is JSON if the client accepts any type, and null if it
 * accepts neither JSON nor CSV.
 */
export function negotiate(headers: IncomingHttpHeaders): Negotiated {
  const key = `${headers.accept ?? ''}\n${headers['accept-encoding'] ?? ''}`
  const cached = negotiatedByHeaders.get(key)
  if (cached) return cached
  const negotiator = new Negotiator({ headers })
  const type = negotiator.mediaType(Object.keys(formats)) as keyof typeof formats | undefined
  const negotiated: Negotiated = {
    format: type ? formats[type] : null,
    encoding: chooseEncoding(headers),
  }
  negotiatedByHeaders.set(key, negotiated)
  return negotiated
}

/** The `format` parameter takes precedence over the Accept header. Throws 406 if neither fits. */
export function chooseFormat(negotiated: Negotiated, { format, locale }: StatsQuery): Format {
  const chosen = format ?? negotiated.format
  if (chosen === null) throw new Problem('not_acceptable', notAcceptableDetail)
  if (chosen === 'json') return 'json'
  if (locale === undefined) return 'csv'
  return locale === 'en' ? 'csv-point' : 'csv-comma'
}
