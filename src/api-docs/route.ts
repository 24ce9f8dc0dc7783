// Serves GET /openapi.json and GET /docs. The configuration can switch off each of them.
import { createHash } from 'node:crypto'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { matchesEtag } from '../http/etag.ts'
import { chooseDocsLanguage } from './docs-language.ts'
import { type DocsLanguage, docsContentSecurityPolicy, renderDocs } from './docs-page/docs-page.ts'
import type { Operation } from './endpoint-description.ts'
import type { OpenApiDocument } from './openapi-document.ts'

export type ApiDocsOptions = {
  /** Builds the document. This takes 20 ms. */
  buildDocument: () => OpenApiDocument
  operations: Operation[]
  serve: { openapi: boolean; docs: boolean }
}

/**
 * The responses depend only on configuration and language, so each is built once. It is built at
 * its first request, so that the process starts quickly.
 */
export const apiDocsRoutes: FastifyPluginAsync<ApiDocsOptions> = async (
  app,
  { buildDocument, operations, serve },
) => {
  const readDocument = once(buildDocument)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer')
    done()
  })
  if (serve.openapi) {
    app.get(
      '/openapi.json',
      { config: { requiredScope: null } },
      sendFixedBody(() => JSON.stringify(readDocument()), 'application/json; charset=utf-8', {
        // Editors and generators that run in a browser read it from their own origins. The
        // document contains no secret.
        'access-control-allow-origin': '*',
      }),
    )
  }
  if (serve.docs) {
    const options = {
      exampleRequests: operations.flatMap((operation) => operation.exampleRequests),
      hasDocument: serve.openapi,
    }
    const sendPage = (language: DocsLanguage) =>
      sendFixedBody(
        () => renderDocs(readDocument(), options, language),
        'text/html; charset=utf-8',
        { 'content-security-policy': docsContentSecurityPolicy, vary: 'accept-language' },
      )
    const handlers = { en: sendPage('en'), es: sendPage('es') }
    app.get('/docs', { config: { requiredScope: null } }, (request, reply) =>
      handlers[chooseDocsLanguage(request.query as object, request.headers)](request, reply),
    )
  }
}

/** Returns a handler that sends a text with an ETag, or 304 if the client has it. */
function sendFixedBody(buildText: () => string, type: string, headers: Record<string, string>) {
  const readBody = once(() => {
    const bytes = Buffer.from(buildText())
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
  })
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { bytes, etag } = readBody()
    reply.headers(headers).header('etag', etag).header('cache-control', 'no-cache')
    if (matchesEtag(request.headers['if-none-match'], etag)) void reply.code(304).send()
    else void reply.type(type).send(bytes)
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
