// Limits how many requests a caller may send, with @fastify/rate-limit.
import rateLimit from '@fastify/rate-limit'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preParsingAsyncHookHandler,
} from 'fastify'
import { getCountedAddress } from '../http/client-address.ts'
import { Problem } from '../http/problem-details.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { createStoreClass } from './rate-limit-store.ts'

/**
 * A hook that applies a rate limit. It is a preParsing hook, because it must run after
 * authentication, an onRequest hook: an invalid key gets 401, and a valid key has its own count.
 */
export type RateLimit = preParsingAsyncHookHandler

/** The lengths of the windows in which requests are counted, in milliseconds. */
export const rateWindowsMs = { second: 1_000, minute: 60_000 }

type Limit = {
  /** Routes with the same name share one count. */
  name: string
  maxRequests: number
  per: keyof typeof rateWindowsMs
}

/**
 * Registers the rate limiter. It counts requests per key, or per client address without a key. With
 * Redis all processes share the counts. While Redis is unreachable, each process counts on its own.
 */
export async function registerRateLimiter(
  app: FastifyInstance,
  { redis, keyPrefix }: { redis: RedisAccess | null; keyPrefix: string },
): Promise<void> {
  await app.register(rateLimit, {
    global: false,
    store: createStoreClass(redis, { keyPrefix, log: app.log }),
    enableDraftSpec: true,
    keyGenerator: getLimitKey,
    errorResponseBuilder: (_request, { after, max, ttl }) =>
      new Problem('rate_limited', `More than ${max} requests. Try again in ${after}.`, {
        headers: { 'retry-after': String(Math.max(1, Math.ceil(ttl / 1000))) },
        reason: 'request rate',
      }),
  })
}

/** Counts a request for a target, such as a link. Throws a 429 problem above the limit. */
export type TargetRateLimit = (
  request: FastifyRequest,
  reply: FastifyReply,
  target: string,
) => Promise<void>

/**
 * Returns a function that limits the requests for each target, whoever sends them. `target` must
 * not be a secret, because Redis stores it.
 */
export function createTargetRateLimit(
  app: FastifyInstance,
  { name, maxRequests, per }: Limit,
): TargetRateLimit {
  // The limiter passes only the request to `keyGenerator`.
  const targets = new WeakMap<FastifyRequest, string>()
  const checkLimit = app.rateLimit({
    max: maxRequests,
    timeWindow: rateWindowsMs[per],
    groupId: name,
    keyGenerator: (request) => targets.get(request) ?? '',
  })
  return async (request, reply, target) => {
    targets.set(request, target)
    await checkLimit.call(app, request, reply)
  }
}

/**
 * Returns a hook that limits the requests of each caller. A key can have a multiple of the limit,
 * or no limit.
 */
export function createCallerRateLimit(
  app: FastifyInstance,
  { name, maxRequests, per }: Limit,
): RateLimit {
  const findLimit = ({ admittedKey }: FastifyRequest) =>
    admittedKey?.limitFactor == null
      ? maxRequests
      : Math.max(1, Math.round(maxRequests * admittedKey.limitFactor))
  const checkLimit = app.rateLimit({
    max: findLimit,
    timeWindow: rateWindowsMs[per],
    groupId: name,
  })
  return async (request, reply, payload) => {
    // The allowList of the limiter would do the same, but awaits several promises.
    if (!request.admittedKey?.unlimited) await checkLimit.call(app, request, reply)
    return payload
  }
}

/**
 * Returns the text under which a request is counted. Many visitors share a publishable key, so it
 * is counted together with the address. Otherwise one visitor could use up the limit of the others.
 */
function getLimitKey({ admittedKey, ip }: FastifyRequest): string {
  if (!admittedKey) return getCountedAddress(ip)
  const { kind, id } = admittedKey
  return kind === 'publishable' ? `${id} ${getCountedAddress(ip)}` : id
}
