// What a client takes: JSON or CSV, plain or compressed. Few different headers ever come, so that they are read once.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import type { Encoding } from './response-body.ts'

export type Negotiated = { format: 'json' | 'csv' | null; encoding: Encoding }

const known = new Map<string, Negotiated>()
const knownAtMost = 1_000
const mediaTypes = { 'application/json': 'json', 'text/csv': 'csv' } as const

/** JSON where any type will do, null for a type that there is not; the encoding that the client names first, and plain bytes without Accept-Encoding. */
export function negotiate(headers: IncomingHttpHeaders): Negotiated {
  const { accept = '', 'accept-encoding': encodings = '' } = headers
  const name = `${accept}\n${encodings}`
  const before = known.get(name)
  if (before) return before
  if (known.size >= knownAtMost) known.clear()
  const negotiator = new Negotiator({ headers })
  const type = negotiator.mediaType(Object.keys(mediaTypes)) as keyof typeof mediaTypes | undefined
  const encoding = negotiator.encoding(['br', 'gzip', 'identity']) as Encoding | undefined
  const negotiated: Negotiated = {
    format: type ? mediaTypes[type] : null,
    encoding: encoding ?? 'identity',
  }
  known.set(name, negotiated)
  return negotiated
}
