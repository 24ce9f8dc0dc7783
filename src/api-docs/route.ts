// GET /openapi.json and /docs: the interface described for programs and for people. Each can be switched off.
import { createHash } from 'node:crypto'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { docsContentSecurityPolicy, renderDocs } from './docs-page.ts'
import type { Operation } from './endpoint-description.ts'
import type { OpenApiDocument } from './openapi-document.ts'

export type ApiRoutesOptions = {
  document: OpenApiDocument
  operations: Operation[]
  serve: { openapi: boolean; docs: boolean }
}

/** Both are made once: they depend on the configuration alone. */
export const apiRoutes: FastifyPluginAsync<ApiRoutesOptions> = async (
  app,
  { document, operations, serve },
) => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer')
    done()
  })
  if (serve.openapi) {
    const send = finished(JSON.stringify(document), 'application/json; charset=utf-8', {
      // Editors and generators in a browser read it from their own pages; there is nothing secret in it.
      'access-control-allow-origin': '*',
    })
    app.get('/openapi.json', send)
  }
  if (serve.docs) {
    const page = renderDocs(document, {
      tries: operations.flatMap(({ tries }) => tries),
      hasDocument: serve.openapi,
    })
    app.get(
      '/docs',
      finished(page, 'text/html; charset=utf-8', {
        'content-security-policy': docsContentSecurityPolicy,
      }),
    )
  }
}

function finished(text: string, type: string, headers: Record<string, string>) {
  const bytes = Buffer.from(text)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  return (request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(headers).header('etag', etag).header('cache-control', 'no-cache')
    const known = request.headers['if-none-match']
      ?.split(',')
      .some((tag) => tag.trim().replace(/^W\//, '') === etag)
    if (known) void reply.code(304).send()
    else void reply.type(type).send(bytes)
  }
}
