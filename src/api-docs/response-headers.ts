// The response headers that the OpenAPI document describes.

export type HeaderDescription = {
  description: string
  required?: boolean
  schema: { [keyword: string]: unknown }
  example?: string
}
export type Reference = { $ref: string }

const wholeNumber = { type: 'string', pattern: '^[0-9]+$' }

export const responseHeaders = {
  'x-request-id': {
    description:
      'Identifies this request in the log of the service. Send your own (at most 64 of A–Z, ' +
      'a–z, 0–9, ".", "_", "-") to trace a request.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    example: 'k3f9x2-1a',
  },
  'cache-control': {
    description: 'Whether the response may be cached',
    required: true,
    schema: { type: 'string' },
    example: 'private, no-store',
  },
  etag: {
    description:
      'Identifies the statistics in this format, in every encoding and whatever `asOf` is. Send ' +
      'it in If-None-Match to get 304 while they are unchanged.',
    required: true,
    schema: { type: 'string', pattern: '^W/"[A-Za-z0-9_-]+"$' },
    example: 'W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
  },
  age: {
    description: 'Seconds since the statistics were last known to be current',
    required: true,
    schema: wholeNumber,
    example: '0',
  },
  'cache-status': {
    description:
      'RFC 9211: `hit`, `fwd=miss` (computed for this response), or `fwd=stale` (older than two ' +
      'seconds, because computing failed or takes long)',
    required: true,
    schema: { type: 'string', pattern: '^stats; ' },
    example: 'stats; hit',
  },
  vary: {
    description: 'The request headers that select the representation',
    required: true,
    schema: { type: 'string' },
    example: 'accept, accept-encoding',
  },
  'content-disposition': {
    description: 'The file name for saving the response',
    schema: { type: 'string' },
    example: 'attachment; filename="stats-2026-01-01-2026-02-28.csv"',
  },
  'ratelimit-limit': {
    description: 'Requests allowed per window; absent for keys without a limit',
    schema: wholeNumber,
    example: '40',
  },
  'ratelimit-remaining': {
    description: 'Requests left in the current window',
    schema: wholeNumber,
    example: '39',
  },
  'ratelimit-reset': {
    description: 'Seconds until the current window ends',
    schema: wholeNumber,
    example: '1',
  },
  'retry-after': {
    description: 'Seconds to wait before the next attempt',
    required: true,
    schema: wholeNumber,
    example: '2',
  },
  'www-authenticate': {
    description: 'How to authenticate',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="trade-quoting-service"',
  },
} satisfies Record<string, HeaderDescription>
export type HeaderName = keyof typeof responseHeaders

const headersOfEveryResponse: HeaderName[] = [
  'x-request-id',
  'cache-control',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
]

/** Returns references to the named headers and to the headers of every response. */
export function withHeaders(...names: HeaderName[]): Record<string, Reference> {
  const all = [...headersOfEveryResponse, ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
