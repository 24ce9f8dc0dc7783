// GET /api/search: product search as people type. docs/architecture.md follows one step by step.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { getCountedAddress } from '../http/client-address.ts'
import { noStore } from '../http/common-headers.ts'
import { searchPath } from '../http/endpoint-paths.ts'
import { ProblemBody, serializeOnlyProblems } from '../http/problem-details.ts'
import { facetNames } from '../products/fields.ts'
import type { CallerRateLimit } from '../rate-limits/request-rate-limits.ts'
import { prepareQuery, toSearchRequest } from './query-parameters.ts'
import { SearchParameters, type SearchRequest, SearchResponse } from './schema.ts'
import { SearchService, type SearchServiceOptions } from './search.ts'

type SearchOptions = SearchServiceOptions & {
  rateLimit: CallerRateLimit
  /**
   * Called when a search for a first page without filters was answered completely. `caller` is the
   * id of a secret key, or the address as limits count it.
   */
  onCompleteSearch?: (query: { caller: string; text: string; hasHits: boolean }) => void
}

export const searchRoutes: FastifyPluginAsyncTypebox<SearchOptions> = async (app, options) => {
  const { rateLimit, onCompleteSearch, ...serviceOptions } = options
  const service = new SearchService(serviceOptions, app.log)
  app.addHook('onClose', () => service.stop())

  app.get(
    searchPath,
    {
      schema: {
        querystring: SearchParameters,
        // The schema of 200 is for the API documentation only.
        response: { 200: SearchResponse, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      serializerCompiler: serializeOnlyProblems,
      preParsing: rateLimit,
      preValidation(request, _reply, done) {
        done(prepareQuery(request.url, request.query as Record<string, unknown>))
      },
      config: {
        requiredScope: 'search:read',
        // Load shedding calls it for every GET and HEAD request, before Fastify handles it.
        hasCapacity: (url) => service.checkCapacity(url),
      },
    },
    async (request, reply) => {
      const { sku: skus } = request.query
      reply.header('cache-control', noStore)
      if (skus) {
        request.logFields = { source: 'database' }
        return sendJson(reply, await service.lookUp(skus))
      }
      const searchRequest = toSearchRequest(request.query)
      const response = await service.search(searchRequest, {
        disconnected: request.signal,
        url: request.url,
        logger: request.log,
        onFallback(fields) {
          // Set now, so that the log line has them even if PostgreSQL fails and there is no
          // response.
          request.logFields = fields
        },
      })
      // The client has disconnected, so nobody reads this. It only ends the request in Fastify.
      if (!response) return sendJson(reply, '')
      request.logFields = response.logFields
      if (!response.isDegraded && isFirstUnfilteredPage(searchRequest))
        onCompleteSearch?.({
          caller: identifyCaller(request),
          text: searchRequest.text,
          hasHits: response.hasHits,
        })
      return sendJson(reply, response.json)
    },
  )
}

function isFirstUnfilteredPage(request: SearchRequest): boolean {
  return request.offset === 0 && facetNames.every((name) => request[name] === undefined)
}

/** Visitors share a publishable key, so their addresses distinguish them. */
function identifyCaller({ admittedKey, ip }: FastifyRequest): string {
  return admittedKey?.kind === 'secret' ? admittedKey.id : getCountedAddress(ip)
}

/** The text is already JSON, so Fastify does not serialise it. */
function sendJson(reply: FastifyReply, json: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}
