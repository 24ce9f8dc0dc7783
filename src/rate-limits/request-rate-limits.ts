// How often one caller may call: @fastify/rate-limit with a store of our own.
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify'
import type { Redis } from 'ioredis'
import { Problem } from '../http/problem-details.ts'
import { budgetStore } from './rate-limit-store.ts'

/** Runs after the key is checked: an invalid key is told so, and a valid one is counted as itself. */
export type RateLimit = preParsingHookHandler

/** So many requests in a window to what is limited under this name; a key may carry a multiple of that. */
export function callerLimit(
  app: FastifyInstance,
  name: string,
  max: number,
  timeWindow: number,
): RateLimit {
  const maxOf = ({ caller }: FastifyRequest) =>
    caller?.limitFactor == null ? max : Math.max(1, Math.round(max * caller.limitFactor))
  const count = app.rateLimit({ max: maxOf, timeWindow, groupId: name })
  return (request, reply, payload, done) => {
    // Here and not by the limiter's allowList, whose promises cost as much as an answer from memory.
    if (request.caller?.unlimited) done(null, payload)
    else count.call(app, request, reply).then(() => done(null, payload), done)
  }
}

/**
 * Registers the limiter for `callerLimit`. Counted per key, else per client address (IPv6 by /64), and a publishable key per key and address;
 * together with the other processes through Redis. With Redis away each process limits on its own.
 */
export async function limitRates(
  app: FastifyInstance,
  { redis, prefix }: { redis: Redis | null; prefix: string },
): Promise<void> {
  await app.register(rateLimit, {
    global: false,
    store: budgetStore(redis, prefix),
    enableDraftSpec: true,
    keyGenerator,
    errorResponseBuilder: (_request, { after, max, ttl }) =>
      new Problem('rate_limited', `More than ${max} requests. Try again in ${after}.`, {
        headers: { 'retry-after': String(Math.max(1, Math.ceil(ttl / 1000))) },
      }),
  })
}

/** Everybody has a publishable key: one visitor must not use up the limit of the others. */
function keyGenerator({ caller, ip }: FastifyRequest): string {
  if (!caller) return network(ip)
  return caller.kind === 'publishable' ? `${caller.id} ${network(ip)}` : caller.id
}

/** The address that a client can be held to: IPv4 whole (also when mapped into IPv6), IPv6 by its /64, which is what one customer is given. */
export function network(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)
  if (mapped?.[1]) return mapped[1]
  if (!ip.includes(':')) return ip
  const [head = '', tail] = (ip.split('%')[0] ?? '').split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups =
    tail === undefined
      ? left
      : [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
