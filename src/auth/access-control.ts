// Checks the API key, scope and origin of each request.
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
} from 'fastify'
import type { Kysely } from 'kysely'
import type { Scope, Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import type { FailedAttemptLimit } from '../rate-limits/failed-attempt-limit.ts'
import { ApiKeyChecker } from './api-key-check.ts'
import { LastUsedRecorder } from './api-key-last-used.ts'
import { ApiKeyUsageRecorder } from './api-key-usage.ts'
import { type ApiKey, isUsable, publishableScope } from './api-keys.ts'
import {
  createUnauthenticatedProblem,
  createWrongOriginProblem,
  howToGetKey,
  toCheckProblem,
} from './auth-problems.ts'
import { addCorsHeaders, registerPreflights, requestOrigin } from './cors.ts'
import { readPresentedKey } from './presented-key.ts'
import type { OriginCheck } from './registered-origins.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The id of the request's key, which is not secret. It is set even if the key is refused
     * because it has expired, was revoked, lacks a scope or exceeds a limit. Null for an unknown
     * key.
     */
    keyId: string | null
    /** The API key of the request, or null for an anonymous caller. */
    caller: ApiKey | null
  }
  interface FastifyContextConfig {
    /** True if pages of other sites may call this path with a publishable key. */
    allowsCrossOrigin?: boolean
  }
}

export type Access = {
  /** Returns a hook that rejects callers without the scope. */
  requireScope(scope: Scope): onRequestAsyncHookHandler
  /** Throws a problem unless the caller also has `scope`. `neededBy`: what needs it, as `by=…`. */
  requireAlso(request: FastifyRequest, scope: Scope, neededBy: string): void
}

export type AccessOptions = {
  db: Kysely<Tables>
  isRegisteredOrigin: OriginCheck
  /** The scopes of a caller without a key. */
  anonymousScopes: readonly Scope[]
  /** Limits how many invalid keys an address may send. */
  failedAttempts: FailedAttemptLimit
  /** The origin of the pages that the service itself serves. */
  ownOrigin: string
}

/**
 * Registers preflight responses, and returns what routes use to check their callers. A caller
 * without a key has `anonymousScopes`. A valid key has exactly its own scopes. An invalid key is
 * always 401, even if anonymous callers would be admitted.
 */
export function registerAccessControl(app: FastifyInstance, options: AccessOptions): Access {
  app.decorateRequest('caller', null)
  app.decorateRequest('keyId', null)
  const control = new AccessControl(options)
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.allowsCrossOrigin) control.crossOriginPaths.add(url)
  })
  registerPreflights(app, {
    allowsCrossOrigin: (path) => path !== undefined && control.crossOriginPaths.has(path),
    isRegisteredOrigin: options.isRegisteredOrigin,
  })
  app.addHook('onResponse', ({ keyId }, { statusCode }, done) => {
    if (keyId !== null) control.countUsage(keyId, statusCode)
    done()
  })
  app.addHook('onClose', () => control.close())
  return control
}

class AccessControl implements Access {
  readonly crossOriginPaths = new Set<string>()
  readonly #options: AccessOptions
  readonly #keys: ApiKeyChecker
  readonly #lastUsed: LastUsedRecorder
  readonly #usage: ApiKeyUsageRecorder

  constructor(options: AccessOptions) {
    this.#options = options
    this.#lastUsed = new LastUsedRecorder(options.db)
    this.#usage = new ApiKeyUsageRecorder(options.db)
    this.#keys = new ApiKeyChecker(options.db, (id) => this.#usage.recordWrongSecret(id))
  }

  async close(): Promise<void> {
    await Promise.all([this.#lastUsed.stop(), this.#usage.stop()])
  }

  /** Counts a request after its response, even if it was refused. */
  countUsage(keyId: string, status: number): void {
    this.#usage.record(keyId, status)
  }

  requireScope(scope: Scope): onRequestAsyncHookHandler {
    const allowsPublishableKeys = scope === publishableScope
    return async (request, reply) => {
      if (allowsPublishableKeys) reply.header('vary', 'Origin')
      try {
        const key = readPresentedKey(request, allowsPublishableKeys)
        if (key === null) return this.#admitAnonymous(scope)
        const cached = this.#keys.findCachedKey(key)
        const isCached = cached && isUsable(cached)
        const apiKey = isCached ? cached : await this.#findOrCountFailure(request, key)
        this.#admit(request, reply, apiKey, scope)
      } catch (problem) {
        await this.#addCorsHeadersToRefusal(request, reply)
        throw problem
      }
    }
  }

  requireAlso({ caller }: FastifyRequest, scope: Scope, neededBy: string): void {
    const scopes = caller?.scopes ?? this.#options.anonymousScopes
    if (scopes.includes(scope)) return
    if (caller === null)
      throw createUnauthenticatedProblem(
        `${neededBy} needs a key with the scope ${scope}. ${howToGetKey}`,
      )
    throw new Problem(
      'insufficient_scope',
      `${neededBy} needs the scope ${scope}, which the key lacks; it has ${scopes.join(', ')}.`,
    )
  }

  #admitAnonymous(scope: Scope): void {
    if (this.#options.anonymousScopes.includes(scope)) return
    throw createUnauthenticatedProblem(
      `This path needs a key with the scope ${scope}. ${howToGetKey}`,
    )
  }

  /**
   * Returns the key, or null if there is none. A key that may not be used counts as a failed
   * attempt. Throws a problem if this address has made too many of them.
   */
  async #findOrCountFailure(request: FastifyRequest, key: string): Promise<ApiKey | null> {
    const { failedAttempts } = this.#options
    // The limit applies before the look-up only to keys that were never found. A known key is
    // always looked up, so that the log of a 429 has its id.
    if (!this.#keys.hasFound(key)) failedAttempts.rejectIfExceeded(request)
    const apiKey = await this.#keys.findKey(key).catch((error: Error) => {
      throw toCheckProblem('Keys', error)
    })
    request.keyId = apiKey?.id ?? null
    if (!apiKey || !isUsable(apiKey)) await failedAttempts.recordFailure(request)
    return apiKey
  }

  /** Throws a problem unless the key is valid, has the scope, and is bound to the origin. */
  #admit(request: FastifyRequest, reply: FastifyReply, apiKey: ApiKey | null, scope: Scope): void {
    request.keyId = apiKey?.id ?? null
    if (!apiKey || !isUsable(apiKey))
      throw createUnauthenticatedProblem(
        `The key is not valid: unknown, expired or revoked. ${howToGetKey}`,
      )
    if (!apiKey.scopes.includes(scope)) {
      const scopes = apiKey.scopes.join(', ')
      throw new Problem('insufficient_scope', `The key lacks the scope ${scope}; it has ${scopes}.`)
    }
    if (apiKey.kind === 'publishable') {
      const origin = requestOrigin(request, this.#options.ownOrigin)
      if (origin === null || !apiKey.origins.includes(origin))
        throw createWrongOriginProblem(origin)
      addCorsHeaders(reply, origin)
    }
    request.caller = apiKey
    this.#lastUsed.record(apiKey.id)
  }

  /** Adds CORS headers for registered origins, so that their pages can read the problem. */
  async #addCorsHeadersToRefusal(
    { headers: { origin }, routeOptions }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    if (origin === undefined || !this.crossOriginPaths.has(routeOptions.url ?? '')) return
    // Without the CORS headers the response is still correct.
    const isRegistered = await this.#options.isRegisteredOrigin(origin).catch(() => false)
    if (isRegistered) addCorsHeaders(reply, origin)
  }
}
