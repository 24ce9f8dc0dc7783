// Serves GET /openapi.json and GET /docs. The configuration can switch off each of them.
import { createHash } from 'node:crypto'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { matchesEtag } from '../http/etag.ts'
import { docsContentSecurityPolicy, renderDocs } from './docs-page/docs-page.ts'
import type { Operation } from './endpoint-description.ts'
import type { OpenApiDocument } from './openapi-document.ts'

export type ApiDocsOptions = {
  document: OpenApiDocument
  operations: Operation[]
  serve: { openapi: boolean; docs: boolean }
}

/** Both responses depend only on the configuration, so they are built once. */
export const apiDocsRoutes: FastifyPluginAsync<ApiDocsOptions> = async (
  app,
  { document, operations, serve },
) => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer')
    done()
  })
  if (serve.openapi) {
    app.get(
      '/openapi.json',
      sendFixedBody(JSON.stringify(document), 'application/json; charset=utf-8', {
        // Editors and generators that run in a browser read it from their own origins. The
        // document contains no secret.
        'access-control-allow-origin': '*',
      }),
    )
  }
  if (serve.docs) {
    const page = renderDocs(document, {
      exampleRequests: operations.flatMap((operation) => operation.exampleRequests),
      hasDocument: serve.openapi,
    })
    app.get(
      '/docs',
      sendFixedBody(page, 'text/html; charset=utf-8', {
        'content-security-policy': docsContentSecurityPolicy,
      }),
    )
  }
}

/** Returns a handler that sends `text` with an ETag, or 304 if the client has it. */
function sendFixedBody(text: string, type: string, headers: Record<string, string>) {
  const bytes = Buffer.from(text)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  return (request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(headers).header('etag', etag).header('cache-control', 'no-cache')
    if (matchesEtag(request.headers['if-none-match'], etag)) void reply.code(304).send()
    else void reply.type(type).send(bytes)
  }
}
