// Every answer of the three endpoints that any test sees is held against the OpenAPI document: its status, media type, headers and body.
import diagnostics from 'node:diagnostics_channel'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OpenApiDocument } from '../../src/api-docs/openapi-document.ts'

type Schema = { [keyword: string]: unknown }
type Header = { required?: boolean; schema: Schema }
type Described = {
  headers?: Record<string, { $ref: string }>
  content?: Record<string, { schema: Schema }>
}

/**
 * Returns a function that says what about an answer is not as the document has it; null when all is. `path` is as in the document. Objects may
 * hold no more than the document names, although clients are told to ignore what they do not know.
 */
export function answersOf(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
  const { schemas, headers } = closed(document.components) as unknown as {
    schemas: Record<string, Schema>
    headers: Record<string, Header>
  }
  ajv.addSchema({ $id: 'document', components: { schemas } })
  const compiled = new Map<unknown, ValidateFunction>()
  const check = (schema: Schema, value: unknown): string | null => {
    const known = compiled.get(schema) ?? ajv.compile(inDocument(closed(schema)))
    compiled.set(schema, known)
    return known(value) ? null : ajv.errorsText(known.errors)
  }

  return (
    path: string,
    status: number,
    answerHeaders: Record<string, unknown>,
    body: string | Buffer | null,
  ): string | null => {
    const responses = document.paths[path]?.get.responses as Record<string, Described> | undefined
    const described = responses?.[status]
    if (!described) return `${status} is not documented for ${path}`
    for (const [name, { $ref }] of Object.entries(described.headers ?? {})) {
      const { required = false, schema } = headers[$ref.split('/').at(-1) ?? ''] ?? { schema: {} }
      const value = answerHeaders[name]
      if (value === undefined && required) return `${path} ${status}: the header ${name} is missing`
      const wrong = value === undefined ? null : check(schema, String(value))
      if (wrong) return `${path} ${status}: ${name}: ${String(value)}: ${wrong}`
    }
    if (body === null || status === 304) return null
    const type = String(answerHeaders['content-type']).split(';')[0] ?? ''
    const content = described.content?.[type]
    if (!content) return `${path} ${status}: ${type} is not documented`
    if (!type.endsWith('json')) return null
    const wrong = check(content.schema, JSON.parse(plain(body, answerHeaders['content-encoding'])))
    return wrong && `${path} ${status}: ${wrong}`
  }
}

const pathOf: Record<string, string> = {
  '/api/search': '/api/search',
  '/api/stats': '/api/stats',
  '/quote/share/:token': '/quote/share/{token}',
}

/** From now on tells of every answer of every app of this process that is outside the document. Other methods and aborted requests aside. */
export function watchAnswers(document: OpenApiDocument, tell: (trouble: string) => void): void {
  const troubleWith = answersOf(document)
  diagnostics.subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook(
      'onSend',
      (request: FastifyRequest, reply: FastifyReply, payload: unknown, done) => {
        const path = pathOf[request.routeOptions.url ?? '']
        if (path && (request.method === 'GET' || request.method === 'HEAD')) {
          const body = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : null
          const trouble = troubleWith(
            path,
            reply.statusCode,
            reply.getHeaders(),
            request.method === 'HEAD' ? null : body,
          )
          if (trouble) tell(trouble)
        }
        done(null, payload)
      },
    )
  })
}

function plain(body: string | Buffer, encoding: unknown): string {
  const bytes = Buffer.from(body)
  if (encoding === 'br') return brotliDecompressSync(bytes).toString()
  return (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString()
}

function inDocument(schema: unknown): Schema {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'),
  ) as Schema
}

/** The schema with every object closed; a member of allOf stays open, its fellow is closed. */
function closed(value: unknown, isMember = false): unknown {
  if (Array.isArray(value)) return value.map((item) => closed(item))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === 'allOf' && Array.isArray(part)
      ? part.map((member) => closed(member, true))
      : closed(part),
  ])
  const isOpen =
    'properties' in value && !('additionalProperties' in value) && !isMember && 'type' in value
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) }
}
