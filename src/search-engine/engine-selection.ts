// Selects the search engine for each request: round-robin over the engines that are healthy and
// whose index is up to date. A circuit breaker says which are healthy. Most installations have one
// engine.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { engineTimeout, type FailedOutcome, type SearchEngine } from './client.ts'
import { nameWithoutVersion } from './index-name.ts'
import { type IndexState, IndexStateFollower } from './index-states.ts'

// Synchronized engines differ by tenths of a second.
const maxIndexLagMs = 10_000
// After lost connections a new one works at once. Each further pause is twice as long.
const firstProbeMs = 100
// Searches use the engine again about a second after it has recovered.
const maxProbePauseMs = 1_000

/** An engine and the name under which its indexer registers its index in the database. */
export type RegisteredEngine = { registrationName: string; engine: SearchEngine }

/** An engine with what decides whether it gets searches: its health and the state of its index. */
export type WatchedEngine = RegisteredEngine & {
  /** The name in the log and in metrics: the registration name without the version of the index. */
  engineName: string
  breaker: CircuitBreaker
  /** Returns the state of its index, which a search needs (IndexStateFollower). */
  getLastKnownState(): IndexState
}

type SelectionOptions = {
  db: Kysely<Tables>
  engines: readonly RegisteredEngine[]
  /** The index that a probe of an engine searches. */
  indexName: string
  /** Called when an engine becomes unavailable, with the error, or available again. */
  onAvailabilityChange(engineName: string, isAvailable: boolean, error?: unknown): void
  /** Called often with the version of the company's words in the database. */
  onCompanyWordsVersion(version: string): void
}

export class EngineSelection {
  /** All engines, also those that get no searches now. */
  readonly engines: readonly WatchedEngine[]
  readonly #indexStates: IndexStateFollower
  #requestCount = 0

  /** Starts to watch the health and the index of every engine. Stop it with `stop()`. */
  constructor(options: SelectionOptions) {
    const { db, engines, indexName, onAvailabilityChange, onCompanyWordsVersion } = options
    const indexStates = new IndexStateFollower({
      db,
      registrationNames: engines.map(({ registrationName }) => registrationName),
      onCompanyWordsVersion,
    })
    const watch = ({ registrationName, engine }: RegisteredEngine): WatchedEngine => {
      const engineName = nameWithoutVersion(registrationName)
      const breaker = new CircuitBreaker({
        probe: () =>
          engine.search(
            [{ indexUid: indexName, q: '', limit: 1, attributesToRetrieve: ['id'] }],
            AbortSignal.timeout(engineTimeout.ms),
          ),
        onChange: (isOpen, error) => onAvailabilityChange(engineName, !isOpen, error),
      })
      const getLastKnownState = () => indexStates.getLastKnownState(registrationName)
      return { registrationName, engineName, engine, breaker, getLastKnownState }
    }
    this.engines = engines.map(watch)
    this.#indexStates = indexStates
  }

  /**
   * Returns the engines for one request in the order in which they are tried: healthy ones with an
   * index that is up to date, then healthy ones with an older index. Empty if none is healthy.
   */
  select(): WatchedEngine[] {
    const healthy = this.#listHealthy()
    if (healthy.length <= 1) return healthy
    this.#requestCount += 1
    const upToDate = withoutOutdated(healthy)
    const next = this.#requestCount % upToDate.length
    const outdated = healthy.filter((engine) => !upToDate.includes(engine))
    return [...upToDate.slice(next), ...upToDate.slice(0, next), ...outdated]
  }

  /**
   * Returns the engines whose cached results may be sent: healthy ones with an index that is up to
   * date. While none is healthy, what the others answered before is still valid.
   */
  listCacheable(): WatchedEngine[] {
    const healthy = this.#listHealthy()
    return withoutOutdated(healthy.length === 0 ? this.#listUsable() : healthy)
  }

  /** Returns whether `select` would return an engine. */
  hasHealthyEngine(): boolean {
    return this.#listHealthy().length > 0
  }

  /**
   * Returns the instant up to which the newest of the indexes contains every committed change; null
   * while it is unknown.
   */
  findNewestIndexedAt(): string | null {
    const states = this.#listUsable().map((engine) => engine.getLastKnownState())
    const instants = states.flatMap(({ indexedAt }) => indexedAt ?? [])
    // Instants in UTC have the order of their texts.
    return instants.toSorted().at(-1) ?? null
  }

  #listHealthy(): WatchedEngine[] {
    return this.#listUsable().filter(({ breaker }) => !breaker.isOpen)
  }

  /** Returns the engines whose index is of this database. They may be down. */
  #listUsable(): WatchedEngine[] {
    return this.engines.filter(({ getLastKnownState }) => getLastKnownState().isOfThisDatabase)
  }

  async stop(): Promise<void> {
    for (const { breaker } of this.engines) breaker.stop()
    await this.#indexStates.stop()
  }
}

/** Leaves out engines whose index is much older than the newest one, until they have caught up. */
function withoutOutdated(engines: WatchedEngine[]): WatchedEngine[] {
  const newest = Math.max(...engines.map(indexedAtMs))
  return engines.filter((engine) => newest - indexedAtMs(engine) <= maxIndexLagMs)
}

/** Returns 0, the oldest possible instant, while the state of the index is unknown. */
function indexedAtMs({ getLastKnownState }: WatchedEngine): number {
  const { indexedAt } = getLastKnownState()
  return indexedAt === null ? 0 : Date.parse(indexedAt)
}

type BreakerOptions = {
  /** Resolves if the engine answers searches. */
  probe(): Promise<unknown>
  /** Called each time the breaker opens, with the error, and each time it closes. */
  onChange(isOpen: boolean, error?: unknown): void
}

/**
 * An outage opens it at once, and so do two timeouts in a row: a single slow search affects nobody
 * else. A successful background probe closes it.
 */
class CircuitBreaker {
  readonly #options: BreakerOptions
  #isOpen = false
  #isStopped = false
  #hasTimedOut = false
  #probeTimer: NodeJS.Timeout | undefined

  /** Creates a closed breaker. Stop it with `stop()`. */
  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Records how a request ended. `error` is reported if the breaker opens. */
  record(outcome: FailedOutcome | 'answered', error?: unknown): void {
    const isSecondTimeout = outcome === 'timeout' && this.#hasTimedOut
    this.#hasTimedOut = outcome === 'timeout'
    if (this.#isOpen || this.#isStopped || (outcome !== 'outage' && !isSecondTimeout)) return
    this.#isOpen = true
    this.#scheduleProbe(firstProbeMs)
    this.#options.onChange(true, error)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#probeTimer)
  }

  #scheduleProbe(pauseMs: number): void {
    const probe = () =>
      this.#options.probe().then(
        () => this.#close(),
        // The error that opened the breaker is already logged.
        () => this.#scheduleProbe(Math.min(2 * pauseMs, maxProbePauseMs)),
      )
    if (!this.#isStopped) this.#probeTimer = setTimeout(() => void probe(), pauseMs).unref()
  }

  #close(): void {
    if (this.#isStopped) return
    this.#isOpen = false
    this.#hasTimedOut = false
    this.#options.onChange(false)
  }
}
