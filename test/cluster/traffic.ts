// What happens all the time in the cluster test: requests at a fixed rate through HAProxy, and
// changes of products and quotes.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/database/postgres-pool.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { type LoadRequest, type LoadResult, startFixedRateLoad } from './fixed-rate-load.ts'
import type { ServiceCluster } from './service-cluster.ts'

export const routes = ['search', 'stats', 'links'] as const
export type Route = (typeof routes)[number]

export const requestsPerSecond = 30
/** Of ten requests, four are searches, three statistics and three links. */
const order: Route[] = [
  ...['search', 'links', 'stats', 'search', 'links'],
  ...['search', 'stats', 'links', 'search', 'stats'],
] as Route[]
const searches = ['martillo', 'taladro indus', 'tornilo', 'bisagra cromada', 'cerradura', 'broca']
const stats = [
  '/api/stats',
  '/api/stats?from=2026-01-01&to=2026-12-31',
  '/api/stats?date=accepted',
  '/api/stats?compare=previous_year',
]
/** Enough addresses for the limits, and no divisor of ten, so that each asks for everything. */
const sourceCount = 21
const writePauseMs = 250
/** A quote follows this many changes of products. */
const productsPerQuote = 3

export type Traffic = {
  /** Every answer until now. */
  results: LoadResult[]
  /** Stops writing, and resolves when nothing is being written. */
  pauseWrites(): Promise<void>
  continueWrites(): void
  stop(): Promise<void>
}

export function startTraffic(cluster: ServiceCluster): Traffic {
  const results: LoadResult[] = []
  const load = startFixedRateLoad({
    url: cluster.haproxy.url,
    perSecond: requestsPerSecond,
    sources: Array.from({ length: sourceCount }, (_, n) => `127.0.1.${n + 1}`),
    next: (number) => nextRequest(number, cluster.tokens),
    onResult: (result) => void results.push(result),
  })
  const writer = new Writer(cluster)
  writer.continue()
  return {
    results,
    pauseWrites: () => writer.pause(),
    continueWrites: () => writer.continue(),
    async stop() {
      await writer.pause()
      await load.stop()
    },
  }
}

function nextRequest(number: number, tokens: string[]): LoadRequest {
  const kind = order[number % order.length] as Route
  const turn = Math.floor(number / order.length)
  const pick = (list: string[]) => list[number % list.length] ?? ''
  switch (kind) {
    case 'search':
      return { kind, path: `/api/search?q=${encodeURIComponent(`${pick(searches)} ${turn % 40}`)}` }
    case 'stats':
      return { kind, path: stats[turn % stats.length] ?? '' }
    case 'links':
      return {
        kind,
        path: `/quote/share/${tokens[turn % tokens.length]}${turn % 2 === 0 ? '?format=json' : ''}`,
      }
  }
}

/** Renames products and adds quotes. While there is no primary, it goes on trying. */
class Writer {
  readonly #db: Database
  readonly #productCount: number
  #isPaused = true
  #writing: Promise<void> = Promise.resolve()
  #count = 0

  constructor({ db, productCount }: ServiceCluster) {
    this.#db = db
    this.#productCount = productCount
  }

  continue(): void {
    this.#isPaused = false
    this.#writing = this.#write()
  }

  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#writing
  }

  async #write(): Promise<void> {
    while (!this.#isPaused) {
      this.#count += 1
      // Without a primary the write is lost, as that of any program that does not repeat it.
      await this.#writeOnce(this.#count).catch(() => undefined)
      await sleep(writePauseMs)
    }
  }

  async #writeOnce(count: number): Promise<void> {
    await this.#db
      .updateTable('products')
      .set({ name: `Martillo renovado ${count}` })
      .where('sku', '=', `SKU-${(count * 7) % this.#productCount}`)
      .execute()
    if (count % productsPerQuote === 0)
      await addQuote(this.#db, `W-${count}`, { status: 'accepted', decided_on: '2026-11-03' })
  }
}
