// GET /api/search: product search as people type.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../auth/access-control.ts'
import { noStore } from '../http/cache-control.ts'
import { searchPath } from '../http/endpoint-paths.ts'
import { ProblemBody } from '../http/problem-details.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import { findMalformedQuery, toSearchRequest } from './query/query-parameters.ts'
import { findInvalidSkus } from './query/sku-parameter.ts'
import { SearchAnswer, SearchQuery, type SearchRequest } from './schema.ts'
import { createSearchLog } from './search-log.ts'
import { SearchService, type SearchServiceOptions } from './search-service.ts'

export type SearchOptions = Omit<SearchServiceOptions, 'log'> & {
  access: Access
  rateLimit: RateLimit
  /**
   * Called for each complete answer to a first page without filters. `caller` is the id of a secret
   * key, or the address.
   */
  onAnswer?: (caller: string, text: string, hasHits: boolean) => void
}

export const searchRoutes: FastifyPluginAsyncTypebox<SearchOptions> = async (app, options) => {
  const { access, rateLimit, onAnswer, ...serviceOptions } = options
  const search = new SearchService({ ...serviceOptions, log: createSearchLog(app.log) })
  app.addHook('onClose', async () => search.stop())

  app.get(
    searchPath,
    {
      schema: {
        querystring: SearchQuery,
        response: { 200: SearchAnswer, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      onRequest: access.requireScope('search:read'),
      preParsing: rateLimit,
      preValidation: rejectMalformedQuery,
      config: { allowsCrossOrigin: true, hasCapacity: (url) => search.hasCapacity(url) },
    },
    async (request, reply) => {
      const { sku: skus } = request.query
      reply.header('cache-control', noStore)
      if (skus) {
        request.logFields = { source: 'database' }
        return sendJson(reply, await search.lookUp(skus))
      }
      const searchRequest = toSearchRequest(request.query)
      const { json, hasHits, logged } = await search.answer(searchRequest, abortOnDisconnect(reply))
      request.logFields = logged
      if (onAnswer && hasHits !== undefined && isFirstPageOfAll(searchRequest))
        onAnswer(identifyCaller(request), searchRequest.text, hasHits)
      return sendJson(reply, json)
    },
  )
}

function isFirstPageOfAll({ offset, category, brand }: SearchRequest): boolean {
  return offset === 0 && category === undefined && brand === undefined
}

/** Visitors share the publishable key, so the address tells them apart. */
function identifyCaller({ caller, ip }: FastifyRequest): string {
  return caller?.kind === 'secret' ? caller.id : ip
}

/** Rejects malformed parameters that validation would accept, and makes `sku` a list. */
function rejectMalformedQuery(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const query = request.query as Record<string, unknown>
  const validate = request.getValidationFunction('querystring')
  const problem = findMalformedQuery(request.url, query, validate) ?? findInvalidSkus(query)
  // The schema expects a list, but the parser returns a text if `sku` is given once.
  if (!problem && query.sku !== undefined) query.sku = [query.sku].flat()
  done(problem)
}

/** Aborts when the client disconnects before the answer has been sent. */
function abortOnDisconnect(reply: FastifyReply): AbortSignal {
  const disconnect = new AbortController()
  const { raw } = reply
  if (raw.destroyed) disconnect.abort()
  raw.once('close', () => {
    if (!raw.writableFinished) disconnect.abort()
  })
  return disconnect.signal
}

/** Sends JSON as it is. The response schema only documents it. */
function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}
