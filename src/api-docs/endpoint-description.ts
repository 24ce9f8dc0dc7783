// How a feature describes itself to integrators: the pieces from which operations/openapi.ts makes the OpenAPI document.
import type { TObject, TSchema } from '@sinclair/typebox'
import { ProblemBody, type ProblemCode, problemKinds } from '../http/problem-details.ts'

export type Schema = TSchema | { [keyword: string]: unknown }
export type Example = { summary: string; value: unknown }
export type MediaType = { schema: Schema; examples?: Record<string, Example> }
export type Header = { description: string; required?: boolean; schema: Schema; example?: string }
export type ApiResponse = {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, MediaType>
}
export type Parameter = {
  name: string
  in: 'query' | 'path' | 'header'
  description: string
  required: boolean
  schema: Schema
  example?: unknown
}
export type Reference = { $ref: string }

/** One of the endpoints: always GET. `scope` is what a caller needs, null where the path itself holds the secret. */
export type Operation = {
  path: string
  id: string
  summary: string
  description: string
  scope: string | null
  /** Whether a publishable key, for browsers, may call it. */
  publishable: boolean
  parameters: Parameter[]
  responses: Record<string, ApiResponse>
  /** Schemas that get a name of their own, in the document and in clients made from it. */
  schemas: Record<string, Schema>
  /** Addresses to try, below the base, with what they show. */
  tries: { address: string; shows: string }[]
}

const seconds = { type: 'string', pattern: '^[0-9]+$' }

/** Every response header that the document names. */
export const headers = {
  'x-request-id': {
    description:
      'Names this request in the log of the service. Send your own (at most 64 of A–Z, a–z, 0–9, ".", "_", "-") to follow it through.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    example: 'k3f9x2-1a',
  },
  'cache-control': {
    description: 'Whether the answer may be kept',
    required: true,
    schema: { type: 'string' },
    example: 'private, no-store',
  },
  etag: {
    description:
      'Names these very bytes; send it back in If-None-Match and get 304 while nothing changed',
    required: true,
    schema: { type: 'string', pattern: '^"[A-Za-z0-9_-]+"$' },
    example: '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
  },
  age: {
    description: 'Seconds since the figures were known to be current',
    required: true,
    schema: seconds,
    example: '0',
  },
  'cache-status': {
    description:
      'RFC 9211: a hit, a miss (computed for this answer), or stale (older than two seconds, because computing failed or takes long)',
    required: true,
    schema: { type: 'string', pattern: '^stats; ' },
    example: 'stats; hit',
  },
  vary: {
    description: 'The request headers that choose the representation',
    required: true,
    schema: { type: 'string' },
    example: 'accept, accept-encoding',
  },
  'content-disposition': {
    description: 'The name of the file when it is saved',
    schema: { type: 'string' },
    example: 'attachment; filename="stats.csv"',
  },
  'ratelimit-limit': {
    description: 'Requests that a window allows; absent for keys without a limit',
    schema: seconds,
    example: '40',
  },
  'ratelimit-remaining': {
    description: 'Requests left in this window',
    schema: seconds,
    example: '39',
  },
  'ratelimit-reset': {
    description: 'Seconds until the window ends',
    schema: seconds,
    example: '1',
  },
  'retry-after': {
    description: 'Seconds to wait before trying again',
    required: true,
    schema: seconds,
    example: '2',
  },
  'www-authenticate': {
    description: 'How to authenticate',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="trade-quoting-service"',
  },
} satisfies Record<string, Header>
export type HeaderName = keyof typeof headers

const limits: HeaderName[] = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']

/** The headers of a response: those named, and what every response has. */
export function withHeaders(...names: HeaderName[]): Record<string, Reference> {
  const all: HeaderName[] = ['x-request-id', 'cache-control', ...limits, ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const headersOf: Partial<Record<ProblemCode, HeaderName>> = {
  unauthenticated: 'www-authenticate',
  rate_limited: 'retry-after',
  unavailable: 'retry-after',
}

type ProblemExample = string | { detail: string; errors: { parameter: string; detail: string }[] }

/**
 * The error responses of an operation: the codes that it may answer with, each with what it says. `alsoAs` are other media types, which a client
 * may ask for.
 */
export function problemResponses(
  details: Partial<Record<ProblemCode, ProblemExample>>,
  alsoAs: Record<string, MediaType> = {},
): Record<string, ApiResponse> {
  const byStatus = Object.groupBy(
    Object.keys(details) as ProblemCode[],
    (code) => problemKinds[code].status,
  )
  const responses = Object.entries(byStatus).map(([status, codes = []]) => {
    const examples = codes.map((code) => [
      code,
      { summary: problemKinds[code].title, value: exampleOf(code, details[code] ?? '') },
    ])
    const schema = {
      allOf: [
        ProblemBody,
        {
          type: 'object',
          properties: { status: { const: Number(status) }, code: { type: 'string', enum: codes } },
        },
      ],
    }
    const response: ApiResponse = {
      description: codes.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '),
      headers: withHeaders(...codes.flatMap((code) => headersOf[code] ?? []).slice(0, 1)),
      content: {
        'application/problem+json': { schema, examples: Object.fromEntries(examples) },
        ...alsoAs,
      },
    }
    return [status, response]
  })
  return Object.fromEntries(responses)
}

function exampleOf(code: ProblemCode, given: ProblemExample): ProblemBody {
  const { status, title } = problemKinds[code]
  const { detail, errors } =
    typeof given === 'string' ? { detail: given, errors: undefined } : given
  return {
    type: `urn:trade-quoting-service:problem:${code}`,
    title,
    status,
    detail,
    code,
    requestId: 'k3f9x2-1a',
    ...(errors && { errors }),
  }
}

/** What both JSON endpoints may answer beside what they are for. */
export const commonProblems = {
  unauthenticated:
    'This path needs a key with the scope search:read. The operator makes keys with scripts/api-key.ts; send yours as "Authorization: Bearer tqs_…".',
  insufficient_scope: 'The key lacks the scope search:read; it has stats:read.',
  rate_limited: 'More than 40 requests. Try again in 1 second.',
  internal_error: 'The request could not be answered. The log says why, under this requestId.',
} satisfies Partial<Record<ProblemCode, ProblemExample>>

/** The query parameters of a schema, with an example for each that is given one. */
export function queryParameters(schema: TObject, examples: Record<string, unknown>): Parameter[] {
  return Object.entries(schema.properties).map(([name, { description = '', ...property }]) => ({
    name,
    in: 'query',
    description,
    required: false,
    schema: property,
    ...(name in examples && { example: examples[name] }),
  }))
}
