// Checks the API key, scope and origin of each request. The key is in the Authorization header or
// in ?key=.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Scope, Tables } from '../database/table-types.ts'
import { createInvalidParameterProblem, Problem } from '../http/problem-details.ts'
import { onRequestEnd } from '../http/request-log.ts'
import type { TaskLog } from '../monitoring/log/failure-log.ts'
import type { GuessLimit } from '../rate-limits/guess-limit.ts'
import { ApiKeyCache } from './api-key-cache.ts'
import { ApiKeyUsage } from './api-key-usage.ts'
import { type ApiKey, isUsable, looksSecret, publishableScope } from './api-keys.ts'
import {
  createUnauthenticatedProblem,
  createWrongOriginProblem,
  howToGetKey,
  replaceIfUnavailable,
} from './auth-problems.ts'
import {
  corsHeaders,
  corsHeadersOfError,
  getRequestOrigin,
  type OriginCheck,
  registerPreflights,
} from './cors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The key whose rights the request has. Only this module sets it, once validity, scope and
     * origin have been checked. It stays set if a rate limit rejects the request later.
     */
    admittedKey: ApiKey | null
  }
  interface FastifyContextConfig {
    /**
     * The scope that a caller of the route needs, or null if the route is open to everybody. If it
     * is `publishableScope`, pages of other sites may call the route with a publishable key. Each
     * route must state it (registerAccessControl).
     */
    requiredScope?: Scope | null
  }
}

type AccessOptions = {
  db: Kysely<Tables>
  isRegisteredOrigin: OriginCheck
  anonymousScopes: readonly Scope[]
  /** Limits how many unknown keys an address may send. */
  guessLimit: GuessLimit
  /** The origin of the pages that the service itself serves. */
  ownOrigin: string
}

/**
 * Answers preflights, and rejects callers without the scope that their route requires. Applies to
 * the routes that are registered later. A route that does not state its `requiredScope` cannot be
 * registered, so that no route is open by accident. A route calls `requireAdditionalScope` of the
 * result if some of its parameters need a further scope.
 *
 * Throws if `logRequests` was not called before, because that adds `authenticKeyId` to requests.
 */
export function registerAccessControl(app: FastifyInstance, options: AccessOptions): AccessControl {
  app.decorateRequest('admittedKey', null, ['authenticKeyId'])
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.requiredScope === undefined)
      throw new Error(`The route ${url} does not state its requiredScope, or null if it is open.`)
  })
  registerPreflights(app, options.isRegisteredOrigin)
  const usage = new ApiKeyUsage(options.db, app.log)
  const access = new AccessControl(options, usage, app.log)
  app.addHook('onRequest', async (request, reply) => {
    const { requiredScope, rejectsMethod } = request.routeOptions.config
    // A disallowed method gets 405, with and without a key. For an unknown path, `config` states no
    // requiredScope.
    if (requiredScope && !rejectsMethod) await access.admit(request, reply, requiredScope)
  })
  onRequestEnd(app, ({ authenticKeyId, admittedKey }, status) => {
    if (authenticKeyId !== null) usage.recordCall(authenticKeyId, status, admittedKey !== null)
  })
  app.addHook('onClose', () => usage.stop())
  return access
}

/**
 * A caller without a key has the anonymous scopes. A valid key has exactly its own scopes. On a
 * route that requires a scope, an invalid key is 401, even if anonymous callers have that scope.
 * Routes whose `requiredScope` is null ignore keys.
 */
export class AccessControl {
  readonly #options: AccessOptions
  readonly #keys: ApiKeyCache

  constructor(options: AccessOptions, usage: ApiKeyUsage, log: TaskLog) {
    this.#options = options
    this.#keys = new ApiKeyCache(options.db, log, (id) => usage.recordWrongSecret(id))
  }

  /**
   * Sets the key of the request. Throws a problem if the caller may not use the scope.
   *
   * Adds CORS headers if pages of other sites may use the scope. On success, they allow the origin
   * of the request if the key is publishable. On rejection, they allow this origin if any valid
   * publishable key is bound to it, so that the page can read the error.
   */
  async admit(request: FastifyRequest, reply: FastifyReply, scope: Scope): Promise<void> {
    if (scope !== publishableScope) return this.#checkCaller(request, reply, scope)
    reply.header('vary', 'Origin')
    try {
      await this.#checkCaller(request, reply, scope)
    } catch (error) {
      const { origin } = request.headers
      reply.headers(await corsHeadersOfError(origin, this.#options.isRegisteredOrigin))
      throw error
    }
  }

  async #checkCaller(request: FastifyRequest, reply: FastifyReply, scope: Scope): Promise<void> {
    const key = takePresentedKey(request, { allowsKeyInUrl: scope === publishableScope })
    if (key === null) return this.#checkAnonymousScope(scope, 'This path')
    const apiKey = await this.#authenticate(request, key)
    checkScope(apiKey, scope, `The key lacks the scope ${scope}`)
    if (apiKey.kind === 'publishable') this.#checkOrigin(apiKey, request, reply)
    request.admittedKey = apiKey
  }

  /** Returns the key if it is valid. Otherwise throws a 401 problem, or 429 after too many. */
  async #authenticate(request: FastifyRequest, key: string): Promise<ApiKey> {
    const apiKey = this.#keys.findFresh(key) ?? (await this.#find(request, key))
    if (!apiKey) {
      await this.#options.guessLimit.recordGuessOrReject(request)
      throw createInvalidKeyProblem('unknown key')
    }
    request.authenticKeyId = apiKey.id
    // An expired or revoked key is no guess. If it counted, one program that still sends
    // such a key would lock out the valid keys of its address.
    if (!isUsable(apiKey))
      throw createInvalidKeyProblem(apiKey.isRevoked ? 'revoked key' : 'expired key')
    return apiKey
  }

  /** Returns null if there is no such key. Throws a 429 problem after too many guesses. */
  async #find(request: FastifyRequest, key: string): Promise<ApiKey | null> {
    // If the address has used up its guesses, only keys that this process has found before are
    // looked up. A valid key that is new to this process is rejected too, because only a look-up
    // can tell it from an invented key.
    if (!this.#keys.wasFoundBefore(key)) this.#options.guessLimit.rejectIfExceeded(request)
    try {
      return await this.#keys.find(key)
    } catch (error) {
      throw replaceIfUnavailable('Keys', error)
    }
  }

  /**
   * Throws a problem unless the caller also has `scope`. `neededBy` is the parameter as the caller
   * wrote it, for example `by=customer`, or what the path returns. The message begins with it.
   */
  requireAdditionalScope({ admittedKey }: FastifyRequest, scope: Scope, neededBy: string): void {
    if (admittedKey === null) this.#checkAnonymousScope(scope, neededBy)
    else checkScope(admittedKey, scope, `${neededBy} needs the scope ${scope}, which the key lacks`)
  }

  #checkAnonymousScope(scope: Scope, neededBy: string): void {
    if (this.#options.anonymousScopes.includes(scope)) return
    throw createUnauthenticatedProblem(
      `${neededBy} needs a key with the scope ${scope}. ${howToGetKey}`,
    )
  }

  #checkOrigin({ origins }: ApiKey, request: FastifyRequest, reply: FastifyReply): void {
    const origin = getRequestOrigin(request, this.#options.ownOrigin)
    if (origin === null || !origins.includes(origin)) throw createWrongOriginProblem(origin)
    reply.headers(corsHeaders(origin))
  }
}

/** Returns the 401 problem. Only the log has `reason`: callers must not learn which keys exist. */
function createInvalidKeyProblem(reason: string): Problem {
  return createUnauthenticatedProblem(
    `The key is not valid: unknown, expired or revoked. ${howToGetKey}`,
    reason,
  )
}

function checkScope({ scopes }: ApiKey, scope: Scope, explanation: string): void {
  if (scopes.includes(scope)) return
  throw new Problem('insufficient_scope', `${explanation}; it has ${scopes.join(', ')}.`, {
    reason: 'missing scope',
  })
}

/**
 * Returns the key of the request, or null if it has none. With `allowsKeyInUrl`, the key may also
 * be in the URL, because publishable keys are public. Then it is removed from the query, because
 * the schemas of the routes have no parameter `key`. Throws a 401 problem for a secret key in a
 * URL, and for an Authorization header without a key.
 */
function takePresentedKey(
  request: FastifyRequest,
  { allowsKeyInUrl }: { allowsKeyInUrl: boolean },
): string | null {
  const query = request.query as { key?: unknown }
  const { key: keyInUrl } = query
  if (keyInUrl !== undefined) rejectSecretKeys(keyInUrl)
  const keyInHeader = readBearerToken(request.headers.authorization)
  if (keyInUrl === undefined || !allowsKeyInUrl) return keyInHeader
  delete query.key
  if (typeof keyInUrl !== 'string')
    throw createInvalidParameterProblem('key', 'must occur only once')
  if (keyInHeader !== null)
    throw createInvalidParameterProblem('key', 'is also given in Authorization: send it once')
  return keyInUrl
}

/**
 * A malformed header is no guess of a key: it does not count against the address, whose other
 * programs may send valid keys.
 */
function readBearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (key !== undefined) return key
  throw createUnauthenticatedProblem(
    `The Authorization header does not have the form "Bearer <key>". ${howToGetKey}`,
    'malformed Authorization header',
  )
}

function rejectSecretKeys(keyInUrl: unknown): void {
  const values = [keyInUrl].flat()
  if (!values.some((value) => looksSecret(String(value).trimStart()))) return
  throw createUnauthenticatedProblem(
    'This is a secret key in a URL, where logs and browser histories store it: revoke it ' +
      '(scripts/api-key.ts revoke), create another, and send that only as ' +
      '"Authorization: Bearer tqs_…".',
    'secret key in the URL',
  )
}
