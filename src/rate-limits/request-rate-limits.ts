// Limits how many requests a caller may send, with @fastify/rate-limit.
import rateLimit, { type errorResponseBuilderContext } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { getCountedAddress } from '../http/client-address.ts'
import { Problem } from '../http/problem-details.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { countNoun } from '../text/count-noun.ts'
import { createStoreClass } from './rate-limit-store.ts'

/**
 * A hook that limits the requests of each caller. A route states it as its `preParsing`, because it
 * must run after the onRequest hook of access control: an invalid key gets 401, and a valid key has
 * its own count.
 */
export type CallerRateLimit = preParsingHookHandler

/** The lengths of the windows in which requests are counted, in milliseconds. */
export const rateWindowsMs = { second: 1_000, minute: 60_000 }

type Limit = {
  /** Routes with the same name share one count. The name is part of the key in Redis. */
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
  /** `redisPrefix` begins every key of this installation in Redis. */
  { redis, redisPrefix }: { redis: RedisAccess | null; redisPrefix: string },
): Promise<void> {
  await app.register(rateLimit, {
    global: false,
    store: createStoreClass(redis, redisPrefix),
    enableDraftSpec: true,
    keyGenerator: getLimitKey,
  })
}

/** Returns the options that every limit passes to the rate limiter. */
function buildLimitOptions({ name, per }: Limit) {
  return {
    timeWindow: rateWindowsMs[per],
    groupId: name,
    errorResponseBuilder: (_request: FastifyRequest, { max, ttl }: errorResponseBuilderContext) =>
      createRateProblem(
        `The limit is ${countNoun(max, 'request')} per ${per}.`,
        ttl,
        'request rate',
      ),
  }
}

/**
 * Returns the 429 problem. `explanation` names the limit and its window, which ends in
 * `remainingMs`. `reason` is for the log.
 */
export function createRateProblem(
  explanation: string,
  remainingMs: number,
  reason: string,
): Problem {
  const seconds = Math.max(1, Math.ceil(remainingMs / 1_000))
  const detail = `${explanation} Try again in ${countNoun(seconds, 'second')}.`
  return new Problem('rate_limited', detail, {
    headers: { 'retry-after': String(seconds) },
    reason,
  })
}

/** Counts a request for a target, such as a quote link. Throws a 429 problem above the limit. */
export type TargetRateLimit = (
  request: FastifyRequest,
  reply: FastifyReply,
  target: string,
) => Promise<void>

/**
 * Returns a function that limits the requests for each target, whoever sends them. `target` must
 * not be a secret, because Redis stores it.
 */
export function createTargetRateLimit(app: FastifyInstance, limit: Limit): TargetRateLimit {
  // The limiter passes only the request to `keyGenerator`.
  const targets = new WeakMap<FastifyRequest, string>()
  const checkLimit = app.rateLimit({
    ...buildLimitOptions(limit),
    max: limit.maxRequests,
    keyGenerator(request) {
      const target = targets.get(request)
      if (target === undefined) throw new Error('The target of the request is not set.')
      return target
    },
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
export function createCallerRateLimit(app: FastifyInstance, limit: Limit): CallerRateLimit {
  const { maxRequests } = limit
  const findMaxRequests = ({ admittedKey }: FastifyRequest) =>
    admittedKey?.limitFactor == null
      ? maxRequests
      : Math.max(1, Math.round(maxRequests * admittedKey.limitFactor))
  const checkLimit = app.rateLimit({ ...buildLimitOptions(limit), max: findMaxRequests })
  return (request, reply, payload, done) => {
    // The allowList of the limiter would do the same, but awaits several promises.
    if (request.admittedKey?.unlimited) return done(null, payload)
    checkLimit.call(app, request, reply).then(() => done(null, payload), done)
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
