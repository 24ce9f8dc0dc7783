// Who is calling, and whether they may: the one request decorator of the house.
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Kysely } from 'kysely'
import type { Scope, Tables } from '../database/tables.ts'
import { Problem } from '../problem.ts'
import { type ApiKey, keyChecker } from './api-keys.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that the request was made with; null for a caller without one. */
    caller: ApiKey | null
  }
}

export type Access = { requireScope(scope: Scope): onRequestHookHandler }

const howToGetKey = 'The operator makes keys with scripts/api-key.ts; send yours as "Authorization: Bearer tqs_…".'

/**
 * Prepares the check of callers. A caller without a key has `anonymousScopes`; a key that is given but not valid is always 401, and a valid one
 * has exactly its own scopes.
 */
export function access(app: FastifyInstance, db: Kysely<Tables>, anonymousScopes: readonly Scope[]): Access {
  app.decorateRequest('caller', null)
  const checkKey = keyChecker(db)

  /** Throws unless the key is one that may. */
  function admit(request: FastifyRequest, caller: ApiKey | null, scope: Scope): void {
    if (caller?.kind !== 'secret') throw unauthenticated(`The key is not valid: unknown, expired or revoked. ${howToGetKey}`)
    if (!caller.scopes.includes(scope)) {
      throw new Problem('insufficient_scope', `The key lacks the scope ${scope}; it has ${caller.scopes.join(', ')}.`)
    }
    request.caller = caller
  }

  return {
    // With callbacks: a key that is known needs no promise.
    requireScope: (scope) => (request, _reply, done) => {
      const key = givenKey(request)
      if (key === null) {
        if (anonymousScopes.includes(scope)) return done()
        return done(unauthenticated(`This path needs a key with the scope ${scope}. ${howToGetKey}`))
      }
      const checked = checkKey(key)
      if (checked instanceof Promise) {
        checked
          .catch((cause: unknown) => {
            throw new Problem('unavailable', 'Keys cannot be checked at the moment. Try again.', { headers: { 'retry-after': '2' }, cause })
          })
          .then((caller) => admit(request, caller, scope))
          .then(() => done(), done)
        return
      }
      try {
        admit(request, checked, scope)
      } catch (problem) {
        return done(problem as Problem)
      }
      done()
    },
  }
}

function givenKey(request: FastifyRequest): string | null {
  const { authorization } = request.headers
  if (authorization === undefined) return null
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
}

function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer realm="trade-quoting-service"' } })
}
