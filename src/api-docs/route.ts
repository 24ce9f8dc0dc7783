// Serves GET /openapi.json and GET /docs. The configuration can switch off each of them.
import type { FastifyPluginAsync } from 'fastify'
import { CompressedContent } from '../http/compressed-content.ts'
import { buildDocsPage, docsContentSecurityPolicy, docsPaths } from './docs-page.ts'
import type { OpenApiDocument } from './openapi-document.ts'

export type ApiDocsOptions = {
  /** Builds the document. This takes 20 ms. */
  buildDocument: () => OpenApiDocument
  serve: { openapi: boolean; docs: boolean }
}

/**
 * The responses depend only on the configuration, so each is built once. It is built at its first
 * request, so that the process starts quickly.
 */
export const apiDocsRoutes: FastifyPluginAsync<ApiDocsOptions> = async (
  app,
  { buildDocument, serve },
) => {
  app.addHook('onRequest', (_request, reply, done) => {
    reply
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-cache')
      .header('vary', 'accept-encoding')
    done()
  })
  const readDocument = once(buildDocument)
  if (serve.openapi) {
    const readBody = once(() => {
      const text = JSON.stringify(readDocument())
      return new CompressedContent(Buffer.from(text), 'application/json; charset=utf-8')
    })
    app.get('/openapi.json', { config: { requiredScope: null } }, (request, reply) => {
      // Editors and generators that run in a browser read it from their own origins. The document
      // contains no secret.
      reply.header('access-control-allow-origin', '*')
      return readBody().send(request, reply)
    })
  }
  if (serve.docs) {
    const readPage = once(() => buildDocsPage(readDocument()))
    for (const path of docsPaths)
      app.get(path, { config: { requiredScope: null } }, (request, reply) => {
        reply.header('content-security-policy', docsContentSecurityPolicy)
        return readPage()[path].send(request, reply)
      })
  }
}

/** Returns a function that calls `build` the first time and then returns the same result. */
function once<Result>(build: () => Result): () => Result {
  let built: { result: Result } | undefined
  return () => {
    built ??= { result: build() }
    return built.result
  }
}
