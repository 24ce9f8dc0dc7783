// Builds the OpenAPI 3.1 document from the descriptions of the endpoints.
import { readFileSync } from 'node:fs'
import { publishableScope } from '../auth/api-keys.ts'
import { Money } from '../company/money.ts'
import type { Scope } from '../database/table-types.ts'
import { ProblemBody, problemKinds } from '../http/problem-details.ts'
import type { Operation, Schema } from './endpoint-description.ts'
import { responseHeaders } from './response-headers.ts'

export type OpenApiOptions = {
  /** The public URL of the service, without a trailing slash. It can contain a path. */
  baseUrl: string
  operations: Operation[]
  /** The scopes of callers without a key. */
  anonymousScopes: readonly string[]
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type OpenApiDocument = {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, { get: { [key: string]: Json } }>
  components: {
    schemas: Record<string, { [key: string]: Json }>
    headers: Record<string, { [key: string]: Json }>
  }
  [key: string]: Json
}

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string }

const apiIntroduction = {
  title: 'Trade quoting service',
  summary:
    'Product search, statistics of quotes, and quote links of a company that sells to other ' +
    'companies. Read-only.',
  conventions: [
    'Money is `{ "amount": "1234.50", "currency": "EUR" }`: a decimal string with the digits of ' +
      'its currency. Never convert it to a binary floating-point number.',
    'Quantities, rates and percentages are decimal strings. Dates (`YYYY-MM-DD`) and months ' +
      '(`YYYY-MM`) follow the company’s calendar. Instants are RFC 3339 in UTC.',
    'Countries are ISO 3166-1 alpha-2 and units UN/ECE Recommendation 20. HS codes are strings.',
    'On `/api/*` an unknown or repeated parameter is an error: a misspelt filter is never ' +
      'silently ignored. HEAD works wherever GET does; other methods return 405 ' +
      '(`method_not_allowed`).',
    'Changes are additive: ignore fields that you do not know. A breaking change is announced ' +
      'by `Deprecation` and `Sunset` headers at least six months ahead.',
  ],
  authentication:
    'Send a *secret key* (`tqs_…`) in the header `Authorization: Bearer tqs_…` and keep it on ' +
    'servers. A *publishable key* (`tqp_…`) is for browsers: it can only search, only from the ' +
    'origins that it is bound to, and can also be sent as `?key=`. An invalid key always ' +
    'returns 401. Quote links need no key: the token is the secret.',
  errors:
    'Every error is an RFC 9457 problem (`application/problem+json`) with a `code` from a closed ' +
    'list and a `requestId`, which identifies the request in the log. `invalid_parameter` names ' +
    'the invalid parameters in `errors`, at most 20. Without `errors` the request itself is ' +
    'malformed, and the status may also be 408 or 431.',
  limits:
    'Requests are limited per key, or per client address without a key. `RateLimit-*` headers ' +
    'state how many are left. A 429 names the limit and its window. After a 429 or 503, wait for ' +
    'the seconds in `Retry-After`.',
} as const

const securitySchemes = {
  secretKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'tqs_…',
    description: 'A secret key, for servers: any scope',
  },
  publishableKey: {
    type: 'apiKey',
    in: 'query',
    name: 'key',
    description: 'A publishable key (tqp_…), for browsers: search:read only, bound to origins',
  },
}

/** Returns the OpenAPI document as plain JSON. */
export function buildOpenApiDocument({
  baseUrl,
  operations,
  anonymousScopes,
}: OpenApiOptions): OpenApiDocument {
  const schemas: Record<string, Schema> = Object.assign(
    { Money, Problem: ProblemBody },
    ...operations.map((operation) => operation.schemas),
  )
  const schemaNames = new Map(
    Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]),
  )
  const { title, summary } = apiIntroduction
  const document = {
    openapi: '3.1.0',
    info: {
      title,
      summary,
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description: describeService(),
    },
    servers: [{ url: baseUrl, description: 'This service' }],
    tags: [
      {
        // The name stays, because generators name their clients after it.
        name: 'product',
        description:
          'The three read-only endpoints. Everything else that the service serves demonstrates ' +
          'them.',
      },
    ],
    paths: Object.fromEntries(
      operations.map((operation) => [
        operation.path,
        { get: describeOperation(operation, anonymousScopes) },
      ]),
    ),
    components: { securitySchemes, headers: responseHeaders },
  }
  const plain = toOpenApiJson(document, schemaNames) as OpenApiDocument
  const plainSchemas = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      toOpenApiJson(schema, schemaNames, name),
    ]),
  )
  return { ...plain, components: { ...plain.components, schemas: plainSchemas } } as OpenApiDocument
}

/** Returns the introduction as Markdown, with a table of the problem codes. */
function describeService(): string {
  const { conventions, authentication, limits, errors } = apiIntroduction
  return [
    'The interface has these three endpoints, all of them read-only.\n',
    ...conventions.map((line) => `* ${line}`),
    `\n## Authentication\n\n${authentication}`,
    `\n## Limits\n\n${limits}`,
    `\n## Errors\n\n${errors}`,
    '\n| code | status | title |\n| --- | --- | --- |',
    ...Object.entries(problemKinds).map(
      ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
    ),
  ].join('\n')
}

function describeOperation(
  { id, summary, description, scope, parameters, responses }: Operation,
  anonymousScopes: readonly string[],
) {
  return {
    operationId: id,
    tags: ['product'],
    summary,
    description: scope === null ? description : `${description}\n\nNeeds the scope \`${scope}\`.`,
    security: scope === null ? [] : listSecurityAlternatives(scope, anonymousScopes),
    parameters,
    responses,
  }
}

/** Returns the alternatives for authentication; an empty object means "without a key". */
function listSecurityAlternatives(scope: Scope, anonymousScopes: readonly string[]) {
  return [
    { secretKey: [scope] },
    ...(scope === publishableScope ? [{ publishableKey: [scope] }] : []),
    ...(anonymousScopes.includes(scope) ? [{}] : []),
  ]
}

/**
 * Converts a value that contains TypeBox schemas to the JSON of OpenAPI. A named schema becomes a
 * reference, except in `definition`, its own definition. A union of constants becomes an enum, and
 * a record gets `additionalProperties`.
 */
function toOpenApiJson(value: unknown, names: Map<string, string>, definition?: string): Json {
  if (Array.isArray(value)) return value.map((item) => toOpenApiJson(item, names))
  if (typeof value !== 'object' || value === null) return value as Json
  const name = names.get(JSON.stringify(value))
  if (name && name !== definition) return { $ref: `#/components/schemas/${name}` }
  const { anyOf, patternProperties, ...rest } = value as {
    anyOf?: { const?: string }[]
    patternProperties?: Record<string, unknown>
  }
  const json: Record<string, Json> = {}
  for (const [key, part] of Object.entries(rest))
    if (part !== undefined) json[key] = toOpenApiJson(part, names)
  const constants = anyOf?.flatMap((member) => member.const ?? [])
  if (constants && constants.length === anyOf?.length)
    Object.assign(json, { type: 'string', enum: constants })
  else if (anyOf) json.anyOf = toOpenApiJson(anyOf, names)
  if (patternProperties)
    json.additionalProperties = toOpenApiJson(Object.values(patternProperties)[0], names)
  return json
}
