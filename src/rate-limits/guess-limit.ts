// Limits guesses: how often one address may send unknown API keys or open unknown quote links.

import { getCountedAddress } from '../http/client-address.ts'
import type { Problem } from '../http/problem-details.ts'
import { OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { redisPause } from './rate-limit-store.ts'
import { createRateProblem, rateWindowsMs } from './request-rate-limits.ts'
import { type WindowCount, WindowCounts } from './window-counts.ts'

type GuessOptions = {
  /** Null: each process counts on its own. */
  redis: RedisAccess | null
  /** The prefix of every key of this installation in Redis. */
  redisPrefix: string
  /** What is guessed, as the message to the caller names it. Each kind has its own counts. */
  kind: 'keys' | 'links'
  /** For each client address. */
  maxPerMinute: number
}

/** The caller. Its address is undefined if it has disconnected (src/http/client-address.ts). */
type Caller = { ip: string | undefined }

const windowMs = rateWindowsMs.minute
const maxCountedAddresses = 100_000

/**
 * Counts guesses per client address in windows of a minute. A guess is a request with an unknown
 * API key or an unknown quote link.
 *
 * With Redis all processes share the counts. A process reads the shared count of an address only
 * when it counts a guess itself. So if guesses come one after the other, each process looks up at
 * most one too many. An example with two processes and the limit 10:
 *
 * | process | event                                                      | total in Redis |
 * | ------- | ---------------------------------------------------------- | -------------- |
 * | A       | looks up 10 guesses, and rejects the next without look-up  | 10             |
 * | B       | looks up one guess, and learns the total, so it rejects it | 11             |
 * | B       | rejects the next without look-up                           | 11             |
 *
 * Without Redis each process counts on its own.
 *
 * A guess is counted after its look-up, because only that tells it from a known key or link. So
 * simultaneous guesses are all looked up, and those beyond the limit get 429 afterwards. Of keys,
 * at most `maxConcurrentLookUps` are looked up at once (src/auth/api-key-cache.ts).
 */
export class GuessLimit {
  readonly #options: GuessOptions
  readonly #counts: WindowCounts

  constructor(options: GuessOptions) {
    this.#options = options
    const { redis, redisPrefix, kind } = options
    this.#counts = new WindowCounts({
      redis: new OptionalRedis(redis, redisPause.ms),
      maxCounts: maxCountedAddresses,
      // Keep this name: during an upgrade, processes of the old and the new release share it.
      buildRedisKey: (address, window) => `${redisPrefix}${kind}:guesses:${window}:${address}`,
    })
  }

  /** Throws a 429 problem if the address has used up its guesses. Call it before a look-up. */
  rejectIfExceeded({ ip }: Caller): void {
    const { kind, maxPerMinute } = this.#options
    const count = this.#counts.find(getCountedAddress(ip), windowMs)
    if (!count || count.knownTotal < maxPerMinute) return
    const guessed = kind === 'keys' ? 'key' : 'link'
    throw this.#createProblem(count, `This ${guessed} was not checked, so it may be valid.`)
  }

  /** Counts a guess. Throws a 429 problem if it exceeds the limit. */
  async recordGuessOrReject({ ip }: Caller): Promise<void> {
    const count = this.#counts.add(getCountedAddress(ip), windowMs)
    if ((await count.sendToRedis()) > this.#options.maxPerMinute) throw this.#createProblem(count)
  }

  #createProblem({ endsAt }: WindowCount, ...furtherSentences: string[]): Problem {
    const { kind, maxPerMinute } = this.#options
    const sentences = [
      `Too many unknown ${kind} from your address: the limit is ${maxPerMinute} per minute.`,
      ...furtherSentences,
    ]
    return createRateProblem(
      sentences.join(' '),
      endsAt - Date.now(),
      // Keep this text: docs/operations/runbook.md explains it.
      'too many failed attempts',
    )
  }
}
