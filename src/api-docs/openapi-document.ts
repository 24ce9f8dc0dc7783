// The OpenAPI 3.1 document: the three endpoints, as the features describe them, and what holds for all of them.
import { readFileSync } from 'node:fs'
import { Money } from '../company/money.ts'
import { ProblemBody, problemKinds } from '../http/problem-details.ts'
import { headers, type Operation, type Schema } from './endpoint-description.ts'

export type ApiOptions = {
  /** Where callers reach the service, without a slash at its end; may carry a path. */
  baseUrl: string
  operations: Operation[]
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

export const aboutTheApi = {
  title: 'Trade quoting service',
  summary:
    'Product search, figures over quotes and quote links of a company that sells to other companies. Read-only.',
  conventions: [
    'Money is `{ "amount": "1234.50", "currency": "EUR" }`: a decimal string with the digits of its currency. Never put it into a binary floating-point number.',
    'Quantities, rates and percentages are decimal strings. Dates (`YYYY-MM-DD`) and months (`YYYY-MM`) are those of the company’s calendar, instants are RFC 3339 in UTC.',
    'Countries are ISO 3166-1 alpha-2, units are UN/ECE Recommendation 20, HS codes are strings.',
    'On `/api/*` an unknown or repeated parameter is an error: a misspelt filter is never silently ignored. HEAD works wherever GET does; other methods are 405 (`method_not_allowed`).',
    'Changes are additive: ignore fields that you do not know. A break would be announced by `Deprecation` and `Sunset` headers at least six months ahead.',
  ],
  authentication:
    'A *secret key* (`tqs_…`) goes into the header `Authorization: Bearer tqs_…` and stays on servers. A *publishable key* (`tqp_…`) is for browsers: it may only search, from the origins that it is bound to, and may also be given as `?key=`. A key that is given but not valid is always 401. Quote links need no key: the token is the secret.',
  errors:
    'Every error is an RFC 9457 problem (`application/problem+json`) with a `code` from a closed list and the `requestId` under which the log knows it.',
  limits:
    'Requests are limited per key, else per client address; `RateLimit-*` headers say how much is left. After a 429 or 503 wait for the seconds of `Retry-After`.',
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

/** The document, ready to be sent as JSON. */
export function openapiDocument({
  baseUrl,
  operations,
  anonymousScopes,
}: ApiOptions): OpenApiDocument {
  const schemas: Record<string, Schema> = Object.assign(
    { Money, Problem: ProblemBody },
    ...operations.map((one) => one.schemas),
  )
  const names = new Map(
    Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]),
  )
  const { title, summary, conventions, authentication, errors, limits } = aboutTheApi
  const document = {
    openapi: '3.1.0',
    info: {
      title,
      summary,
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description: [
        'The product is these three endpoints, all of them read-only.\n',
        ...conventions.map((line) => `* ${line}`),
        `\n## Authentication\n\n${authentication}\n\n## Limits\n\n${limits}\n\n## Errors\n\n${errors}\n\n| code | status | |\n| --- | --- | --- |`,
        ...Object.entries(problemKinds).map(
          ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`,
        ),
      ].join('\n'),
    },
    servers: [{ url: baseUrl, description: 'This service' }],
    tags: [
      {
        name: 'product',
        description:
          'The product: three read-only endpoints. Whatever else the service answers is there to show them.',
      },
    ],
    paths: Object.fromEntries(
      operations.map((one) => [one.path, { get: describe(one, anonymousScopes) }]),
    ),
    components: { securitySchemes, headers },
  }
  const definitions = Object.entries(schemas).map(([name, schema]) => [
    name,
    inWordsOfOpenApi(schema, names, name),
  ])
  const plain = inWordsOfOpenApi(document, names) as OpenApiDocument
  return { ...plain, components: { ...plain.components, schemas: Object.fromEntries(definitions) } }
}

function describe(
  { id, summary, description, scope, publishable, parameters, responses }: Operation,
  anonymousScopes: readonly string[],
) {
  const secret = { secretKey: [scope] }
  const security =
    scope === null
      ? []
      : [
          secret,
          ...(publishable ? [{ publishableKey: [scope] }] : []),
          ...(anonymousScopes.includes(scope) ? [{}] : []),
        ]
  return {
    operationId: id,
    tags: ['product'],
    summary,
    description: scope === null ? description : `${description}\n\nNeeds the scope \`${scope}\`.`,
    security,
    parameters,
    responses,
  }
}

/**
 * What features give, as plain JSON in the words of OpenAPI: a schema that has a name is referred to (but not in `definition`, its own); unions of
 * constants are enums, and records have additional properties.
 */
function inWordsOfOpenApi(value: unknown, names: Map<string, string>, definition?: string): Json {
  if (Array.isArray(value)) return value.map((item) => inWordsOfOpenApi(item, names))
  if (typeof value !== 'object' || value === null) return value as Json
  const name = names.get(JSON.stringify(value))
  if (name && name !== definition) return { $ref: `#/components/schemas/${name}` }
  const { anyOf, patternProperties, ...rest } = value as {
    anyOf?: { const?: string }[]
    patternProperties?: Record<string, unknown>
  }
  const plain: Record<string, Json> = {}
  for (const [key, part] of Object.entries(rest))
    if (part !== undefined) plain[key] = inWordsOfOpenApi(part, names)
  const constants = anyOf?.flatMap((one) => one.const ?? [])
  if (constants && constants.length === anyOf?.length)
    Object.assign(plain, { type: 'string', enum: constants })
  else if (anyOf) plain.anyOf = inWordsOfOpenApi(anyOf, names)
  if (patternProperties)
    plain.additionalProperties = inWordsOfOpenApi(Object.values(patternProperties)[0], names)
  return plain
}
