// How often one address may ask for what is not there, apart from what it may open: a limit on guessing secrets.
import type { FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { Problem } from '../http/problem-details.ts'
import { network } from './request-rate-limits.ts'

export type GuessLimit = {
  /** Throws a 429 for an address that has guessed too often. */
  check(request: FastifyRequest): void
  /** Counts a wrong guess. Throws the 429 where it was one too many. */
  count(request: FastifyRequest): Promise<void>
}

const rememberedAddresses = 100_000

/**
 * Counts in windows of the clock, per address (IPv6 by /64). Each process knows whom it refuses without asking; with Redis a guess counts for all
 * of them, so that another process lets pass one more guess at most. Without Redis each counts on its own.
 */
export function guessLimit(options: {
  redis: Redis | null
  prefix: string
  max: number
  windowMs: number
  of: string
}): GuessLimit {
  const { redis, prefix, max, windowMs, of } = options
  let guesses = new Map<string, number>()
  let current = 0

  function thisWindow(): number {
    const window = Math.floor(Date.now() / windowMs)
    // A flood from more addresses than can be remembered begins anew: they are told apart by nothing else.
    if (window !== current || guesses.size >= rememberedAddresses) guesses = new Map()
    current = window
    return window
  }

  function refuseAbove(limit: number, address: string): void {
    if ((guesses.get(address) ?? 0) <= limit) return
    const seconds = Math.max(1, Math.ceil(((current + 1) * windowMs - Date.now()) / 1000))
    throw new Problem('rate_limited', `Too many ${of}. Try again in ${seconds} seconds.`, {
      headers: { 'retry-after': String(seconds) },
    })
  }

  return {
    check(request) {
      thisWindow()
      refuseAbove(max - 1, network(request.ip))
    },
    async count(request) {
      const address = network(request.ip)
      const window = thisWindow()
      const own = (guesses.get(address) ?? 0) + 1
      guesses.set(address, own)
      const everywhere = redis
        ? await countIn(redis, `${prefix}guesses:${window}:${address}`, windowMs)
        : 0
      if (window === current) guesses.set(address, Math.max(guesses.get(address) ?? 0, everywhere))
      refuseAbove(max, address)
    },
  }
}

async function countIn(redis: Redis, key: string, windowMs: number): Promise<number> {
  const results = await redis
    .multi()
    .incr(key)
    .pexpire(key, windowMs)
    .exec()
    .catch(() => null)
  return Number(results?.[0]?.[1] ?? 0)
}
