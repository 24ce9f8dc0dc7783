// Follows the summary in the background: reads its state twice a second, and folds what waits.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog, type TaskLog } from '../../monitoring/log/failure-log.ts'
import { repeat } from '../../monitoring/regular-task.ts'
import type { Moment } from '../cache/shared-stats-cache.ts'
import { foldStatistics } from './fold-statistics.ts'
import { readSummaryState, type SummaryState, type SummaryVersion } from './summary-state.ts'

/** A committed change must be visible within two seconds. */
const pollPauseMs = 500
/** A longer fold goes on in the background. Meanwhile `asOf` says how old the statistics are. */
const foldWaitMs = 500

/**
 * `version` was read after `readAt`, and contains every commit before `currentAt`.
 */
export type ObservedVersion = {
  version: SummaryVersion
  readAt: Moment
  currentAt: Moment
}

/** `setCurrentAt` is called with the moment since which nothing is missing, after each poll. */
export type FoldObserver = { countFoldFailure(): void; setCurrentAt(moment: Moment): void }

export class SummaryFollower {
  readonly #db: Kysely<Tables>
  readonly #observer: FoldObserver
  readonly #foldFailures: FailureLog
  readonly #stopping = new AbortController()
  #latest: ObservedVersion | null = null
  #polling: Promise<void> = Promise.resolve()
  #folding: Promise<void> | null = null

  constructor(db: Kysely<Tables>, { log, observer }: { log: TaskLog; observer: FoldObserver }) {
    this.#db = db
    this.#observer = observer
    this.#foldFailures = new FailureLog(log, {
      failure: (cause) =>
        `Changes of quotes cannot be folded into the statistics summary (${cause}): ` +
        'statistics do not change any more',
      recovery: 'Changes of quotes are folded into the statistics summary again',
    })
  }

  /** Starts to poll. Resolves after the first poll, which folds what waits. */
  async start(): Promise<void> {
    // A failure is not logged: a request that needs PostgreSQL reports it.
    const first = this.#poll().catch(() => undefined)
    const options = { pauseMs: pollPauseMs, pausesFirst: true, signal: this.#stopping.signal }
    this.#polling = first.then(() => repeat(() => this.#poll(), options))
    await first
  }

  /** Stops polling and waits for what is running. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#polling
    await this.#folding
  }

  /** Returns what was read last; null before the first read. */
  latest(): ObservedVersion | null {
    return this.#latest
  }

  /**
   * Returns the moment before which all commits are in the summary, if its state was read after
   * `readAt`. While changes wait, that is the last fold, or what is known of the same version.
   */
  currentAtOf({ version, isFoldDue, foldAgeMs }: SummaryState, readAt: Moment): Moment {
    if (!isFoldDue) return readAt
    const foldedAt = readAt - Math.max(0, foldAgeMs ?? Number.POSITIVE_INFINITY)
    const latest = this.#latest
    const isSame =
      latest?.version.generation === version.generation && latest.version.number === version.number
    return isSame ? Math.max(foldedAt, latest.currentAt) : foldedAt
  }

  async #poll(): Promise<void> {
    this.#latest = await this.#readAndFold()
    const { currentAt } = this.#latest
    if (currentAt > Number.NEGATIVE_INFINITY) this.#observer.setCurrentAt(currentAt)
  }

  async #readAndFold(): Promise<ObservedVersion> {
    let readAt = performance.now()
    let state = await readSummaryState(this.#db)
    if (state.isFoldDue && !this.#stopping.signal.aborted) {
      await Promise.race([this.#fold(), sleep(foldWaitMs, undefined, { ref: false })])
      readAt = performance.now()
      state = await readSummaryState(this.#db)
    }
    return { version: state.version, readAt, currentAt: this.currentAtOf(state, readAt) }
  }

  /** Folds, or joins the fold that is running. Never rejects. */
  #fold(): Promise<void> {
    this.#folding ??= foldStatistics(this.#db)
      .then(
        () => this.#foldFailures.logSuccess(),
        (error: unknown) => {
          this.#observer.countFoldFailure()
          this.#foldFailures.logFailure(error)
        },
      )
      .finally(() => {
        this.#folding = null
      })
    return this.#folding
  }
}
