// Where the rate limiter counts: in this process, told to Redis in batches, so that a request seldom waits for Redis and never fails with it.
import type { Redis } from 'ioredis'

/** What @fastify/rate-limit asks of a store. */
export type BudgetStore = {
  incr(
    key: string,
    answer: (error: Error | null, result?: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void
  child(group: { path?: string; groupId?: string }): BudgetStore
}

/** Requests of one caller in one window: what Redis said last, what is on its way there, and what it has not been told. */
type Count = { window: number; shared: number; onTheWay: number; untold: number; isKnown: boolean }

const callersKept = 10_000
const pauseAfterTroubleMs = 1_000

/** A twentieth of the limit is told at once: small limits request by request, large ones rarely. */
const batchOf = (max: number) => Math.min(1_000, Math.max(1, Math.floor(max / 20)))

/**
 * Counts in windows that begin at whole multiples of their length, the same ones in every process. A process asks Redis before its first answer in
 * a window, and then tells it each batch of a twentieth of the limit (at most 1,000): with several processes a caller can exceed the limit by at most
 * two batches for each process but one. Without Redis, or with it away or slow, each process limits on its own.
 */
export function budgetStore(redis: Redis | null, prefix: string): new () => BudgetStore {
  let pausedUntil = 0
  /** Tells Redis what it does not know yet, and learns what all processes have counted. */
  async function tell(name: string, count: Count, timeWindow: number): Promise<number> {
    const told = count.untold
    count.untold = 0
    count.onTheWay += told
    try {
      if (!redis || performance.now() < pausedUntil) throw new Error('There is no Redis to tell')
      const replies = await redis
        .pipeline()
        .incrby(name, told)
        .pexpire(name, 2 * timeWindow)
        .exec()
      const [error, total] = replies?.[0] ?? [new Error('Redis did not answer')]
      if (error) throw error
      count.shared = Math.max(count.shared, Number(total))
      return Number(total)
    } catch {
      if (performance.now() >= pausedUntil) pausedUntil = performance.now() + pauseAfterTroubleMs
      count.shared += told
      return count.shared
    } finally {
      count.onTheWay -= told
      count.isKnown = true
    }
  }

  return class Store implements BudgetStore {
    readonly #counts = new Map<string, Count>()
    readonly #group: string

    /** What is counted apart from other groups. */
    constructor(group: unknown = '') {
      this.#group = typeof group === 'string' ? group : ''
    }

    incr(
      key: string,
      answer: Parameters<BudgetStore['incr']>[1],
      timeWindow: number,
      max: number,
    ): void {
      const now = Date.now()
      const window = Math.floor(now / timeWindow)
      const ttl = (window + 1) * timeWindow - now
      const count = this.#count(key, window)
      count.untold += 1
      const batch = batchOf(max)
      if (count.isKnown && batch > 1) {
        answer(null, { current: count.shared + count.onTheWay + count.untold, ttl })
        if (count.untold >= batch) void tell(this.#nameOf(key, window), count, timeWindow)
        return
      }
      void tell(this.#nameOf(key, window), count, timeWindow).then((current) =>
        answer(null, { current, ttl }),
      )
    }

    child({ groupId }: { path?: string; groupId?: string }): BudgetStore {
      return new Store(groupId)
    }

    #count(key: string, window: number): Count {
      const known = this.#counts.get(key)
      if (known?.window === window) return known
      if (this.#counts.size >= callersKept) this.#counts.clear()
      const fresh = { window, shared: 0, onTheWay: 0, untold: 0, isKnown: false }
      this.#counts.set(key, fresh)
      return fresh
    }

    #nameOf(key: string, window: number): string {
      return `${prefix}limit:${this.#group}:${key}:${window}`
    }
  }
}
