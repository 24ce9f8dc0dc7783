// Who is calling, and whether they may: the one request decorator of the house.
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Kysely } from 'kysely'
import type { Scope, Tables } from '../database/table-types.ts'
import { invalidParameter, Problem } from '../http/problem-details.ts'
import type { GuessLimit } from '../rate-limits/failed-attempt-limit.ts'
import { keyChecker } from './api-key-check.ts'
import { keyUse } from './api-key-last-used.ts'
import type { ApiKey } from './api-keys.ts'
import { allowOrigin, answerPreflights, originOf } from './cors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that the request was made with; null for a caller without one. */
    caller: ApiKey | null
  }
  interface FastifyContextConfig {
    /** Pages of other sites may call this path, with a publishable key. */
    opensToPages?: boolean
  }
}

export type Access = { requireScope(scope: Scope): onRequestHookHandler }

export type AccessOptions = {
  db: Kysely<Tables>
  /** Whether a valid publishable key is bound to an origin. */
  isRegistered(origin: string): Promise<boolean>
  /** What a caller without a key may do. */
  anonymousScopes: readonly Scope[]
  /** How often an address may send keys that are not valid. */
  guesses: GuessLimit
  /** The origin of the service's own pages. */
  ownOrigin: string
}

const howToGetKey =
  'The operator makes keys with scripts/api-key.ts; send yours as "Authorization: Bearer tqs_…".'

/**
 * Prepares the check of callers. A caller without a key has `anonymousScopes`; a key that is given but not valid is always 401, and a valid one
 * has exactly its own scopes. Publishable keys open what `search:read` opens, from the origins that they are bound to.
 */
export function access(
  app: FastifyInstance,
  { db, isRegistered, anonymousScopes, guesses, ownOrigin }: AccessOptions,
): Access {
  app.decorateRequest('caller', null)
  const keys = keyChecker(db)
  const use = keyUse(db)
  const openToPages = new Set<string>()
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.opensToPages) openToPages.add(url)
  })
  answerPreflights(app, {
    opensTo: (path) => path !== undefined && openToPages.has(path),
    isRegistered,
  })
  app.addHook('onClose', () => use.stop())

  /** Throws unless the key is one that may. */
  function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: ApiKey | null,
    scope: Scope,
  ): void {
    if (!caller)
      throw unauthenticated(`The key is not valid: unknown, expired or revoked. ${howToGetKey}`)
    if (!caller.scopes.includes(scope)) {
      throw new Problem(
        'insufficient_scope',
        `The key lacks the scope ${scope}; it has ${caller.scopes.join(', ')}.`,
      )
    }
    if (caller.kind === 'publishable') {
      const origin = originOf(request, ownOrigin)
      if (origin === null || !caller.origins.includes(origin)) throw wrongOrigin(origin)
      allowOrigin(reply, origin)
    }
    request.caller = caller
    use.note(caller.id)
  }

  /** A refusal that the pages of registered origins can read; nothing in it is worth hiding from them. */
  function refuse(
    request: FastifyRequest,
    reply: FastifyReply,
    problem: unknown,
    done: (error: Error) => void,
  ): void {
    const { origin } = request.headers
    const told =
      origin !== undefined && openToPages.has(request.routeOptions.url ?? '')
        ? isRegistered(origin)
        : Promise.resolve(false)
    told
      .then((registered) => registered && allowOrigin(reply, origin ?? ''))
      .catch(() => undefined)
      .finally(() => done(problem as Error))
  }

  async function checkUnproven(request: FastifyRequest, key: string): Promise<ApiKey | null> {
    guesses.check(request)
    const caller = await keys.check(key).catch(cannotCheck)
    if (!caller) await guesses.count(request)
    return caller
  }

  return {
    // With callbacks: a key that is known needs no promise.
    requireScope(scope) {
      const forPages = scope === 'search:read'
      return (request, reply, done) => {
        if (forPages) reply.header('vary', 'Origin')
        try {
          const key = givenKey(request, forPages)
          if (key === null) {
            if (anonymousScopes.includes(scope)) return done()
            throw unauthenticated(`This path needs a key with the scope ${scope}. ${howToGetKey}`)
          }
          const known = keys.checkKnown(key)
          const checked = known === undefined ? checkUnproven(request, key) : known
          if (!(checked instanceof Promise)) {
            admit(request, reply, checked, scope)
            return done()
          }
          checked
            .catch(cannotCheck)
            .then((caller) => admit(request, reply, caller, scope))
            .then(
              () => done(),
              (problem: unknown) => refuse(request, reply, problem, done),
            )
        } catch (problem) {
          refuse(request, reply, problem, done)
        }
      }
    },
  }
}

/**
 * The key of a request, null without one, empty for something else in its place. A publishable key may stand in the URL where pages may call, since
 * it is public anyway; a secret one never.
 */
function givenKey(request: FastifyRequest, forPages: boolean): string | null {
  const { authorization } = request.headers
  const query = request.query as Record<string, unknown>
  const inUrl = query.key
  const inHeader =
    authorization === undefined ? null : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '')
  if (inUrl === undefined) return inHeader
  if ([inUrl].flat().some((one) => String(one).trimStart().startsWith('tqs_'))) {
    throw unauthenticated(
      'This is a secret key in a URL, where logs and histories keep it: revoke it (scripts/api-key.ts revoke), make another, and send that as "Authorization: Bearer tqs_…" only.',
    )
  }
  if (!forPages) return inHeader
  if (typeof inUrl !== 'string') throw invalidParameter('key', 'must be given once')
  if (inHeader !== null)
    throw invalidParameter('key', 'is given in Authorization too: send it once')
  // It is no parameter of the path: nothing after this sees it.
  delete query.key
  return inUrl
}

function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', detail, {
    headers: { 'www-authenticate': 'Bearer realm="trade-quoting-service"' },
  })
}

function wrongOrigin(origin: string | null): Problem {
  return new Problem(
    'insufficient_scope',
    origin === null
      ? 'A publishable key is for the web pages that it is bound to, and this request names no Origin. Programs need a secret key: scripts/api-key.ts create.'
      : `The key is not bound to the origin ${origin.slice(0, 200)}. The operator names its origins when making it: scripts/api-key.ts create --kind publishable --origins.`,
  )
}

function cannotCheck(cause: unknown): never {
  if (cause instanceof Problem) throw cause
  throw new Problem('unavailable', 'Keys cannot be checked at the moment. Try again.', {
    headers: { 'retry-after': '2' },
    cause,
  })
}
