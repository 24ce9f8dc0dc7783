// Checks every response that any test receives from the three endpoints against the OpenAPI
// document: status, media type, headers and body.
import diagnostics from 'node:diagnostics_channel'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OpenApiDocument } from '../../src/api-docs/openapi-document.ts'

type Schema = { [keyword: string]: unknown }
type HeaderObject = { required?: boolean; schema: Schema }
type ResponseObject = {
  headers?: Record<string, { $ref: string }>
  content?: Record<string, { schema: Schema }>
}
/** Returns how a response deviates from the document, or null. `path` is as in the document. */
export type ConformanceCheck = (
  path: string,
  status: number,
  headers: Record<string, unknown>,
  body: string | Buffer | null,
) => string | null

/**
 * Returns a check of responses against the document. An object must not contain more fields than
 * the document describes, although clients must ignore unknown fields.
 */
export function createConformanceCheck(document: OpenApiDocument): ConformanceCheck {
  const { schemas, headers: headerObjects } = closeSchema(document.components) as unknown as {
    schemas: Record<string, Schema>
    headers: Record<string, HeaderObject>
  }
  const validate = createValidator(schemas)

  function checkHeaders(
    expected: Record<string, { $ref: string }>,
    headers: Record<string, unknown>,
  ): string | null {
    for (const [name, { $ref }] of Object.entries(expected)) {
      const { required = false, schema } = headerObjects[$ref.split('/').at(-1) ?? ''] ?? {
        schema: {},
      }
      const value = headers[name]
      if (value === undefined && required) return `the header ${name} is missing`
      const error = value === undefined ? null : validate(schema, String(value))
      if (error) return `${name}: ${String(value)}: ${error}`
    }
    return null
  }

  return (path, status, headers, body) => {
    const responses = document.paths[path]?.get.responses as
      | Record<string, ResponseObject>
      | undefined
    const response = responses?.[status]
    if (!response) return `${status} is not documented for ${path}`
    const headerError = checkHeaders(response.headers ?? {}, headers)
    if (headerError) return `${path} ${status}: ${headerError}`
    if (body === null || status === 304) return null
    const mediaType = String(headers['content-type']).split(';')[0] ?? ''
    const content = response.content?.[mediaType]
    if (!content) return `${path} ${status}: ${mediaType} is not documented`
    if (!mediaType.endsWith('json')) return null
    const bodyError = validate(
      content.schema,
      JSON.parse(decompress(body, headers['content-encoding'])),
    )
    return bodyError && `${path} ${status}: ${bodyError}`
  }
}

const documentPaths: Record<string, string> = {
  '/api/search': '/api/search',
  '/api/stats': '/api/stats',
  '/quote/share/:token': '/quote/share/{token}',
}

/**
 * From now on checks the responses of every Fastify instance in this process and reports each
 * deviation. Ignores methods other than GET and HEAD.
 */
export function checkEveryResponse(
  document: OpenApiDocument,
  report: (deviation: string) => void,
): void {
  const check = createConformanceCheck(document)
  diagnostics.subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook(
      'onSend',
      (request: FastifyRequest, reply: FastifyReply, payload: unknown, done) => {
        const path = documentPaths[request.routeOptions.url ?? '']
        if (path && (request.method === 'GET' || request.method === 'HEAD')) {
          const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : null
          const deviation = check(
            path,
            reply.statusCode,
            reply.getHeaders(),
            request.method === 'HEAD' ? null : body,
          )
          if (deviation) report(deviation)
        }
        done(null, payload)
      },
    )
  })
}

/** Returns a function that validates a value and returns the errors as text, or null. */
function createValidator(schemas: Record<string, Schema>) {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // Another test checks the document, and either would take longer than checking the responses.
    validateSchema: false,
    code: { optimize: false },
  })
  ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
  ajv.addSchema({ $id: 'document', components: { schemas } })
  const validators = new Map<Schema, ValidateFunction>()
  return (schema: Schema, value: unknown): string | null => {
    const validator = validators.get(schema) ?? ajv.compile(resolveInDocument(closeSchema(schema)))
    validators.set(schema, validator)
    return validator(value) ? null : ajv.errorsText(validator.errors)
  }
}

function decompress(body: string | Buffer, encoding: unknown): string {
  const bytes = Buffer.from(body)
  if (encoding === 'br') return brotliDecompressSync(bytes).toString()
  return (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString()
}

function resolveInDocument(schema: unknown): Schema {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'),
  ) as Schema
}

/**
 * Returns a copy of a schema in which no object allows additional properties. The members of an
 * allOf stay open, because each of them describes only some of the properties.
 */
function closeSchema(value: unknown, isAllOfMember = false): unknown {
  if (Array.isArray(value)) return value.map((item) => closeSchema(item))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === 'allOf' && Array.isArray(part)
      ? part.map((member) => closeSchema(member, true))
      : closeSchema(part),
  ])
  const isOpenObject =
    'properties' in value && !('additionalProperties' in value) && !isAllOfMember && 'type' in value
  return { ...Object.fromEntries(entries), ...(isOpenObject && { additionalProperties: false }) }
}
