// Follows the summary in the background: reads its state twice a second, and folds what waits.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog, type TaskLog } from '../../monitoring/log/failure-log.ts'
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
  #latest: ObservedVersion | null = null
  #hasFailed = false
  #reading: { startedAt: Moment; finished: Promise<ObservedVersion | null> } | null = null
  #folding: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

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
    await this.#read()
    this.#schedule()
  }

  /** Stops polling and waits for what is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#reading?.finished
    await this.#folding
  }

  /** Returns what was read last; null before the first read. */
  latest(): ObservedVersion | null {
    return this.#latest
  }

  /** Polls unless the last poll is younger than `ageMs`. Returns null if PostgreSQL fails. */
  async readIfOlderThan(ageMs: number): Promise<ObservedVersion | null> {
    const latest = this.#latest
    return latest && performance.now() - latest.readAt < ageMs ? latest : this.#read()
  }

  /** Whether the last poll failed, or the running one has had no response for `responseMs`. */
  isFailing(responseMs: number): boolean {
    if (this.#hasFailed) return true
    return this.#reading !== null && performance.now() - this.#reading.startedAt > responseMs
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

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      void this.#read().then(() => this.#schedule())
    }, pollPauseMs).unref()
  }

  /** Starts a poll, or joins the running one. Returns null if it failed. */
  #read(): Promise<ObservedVersion | null> {
    if (this.#reading) return this.#reading.finished
    const startedAt = performance.now()
    const finished = this.#poll().then(
      (observed) => {
        this.#hasFailed = false
        this.#latest = observed
        if (observed.currentAt > Number.NEGATIVE_INFINITY)
          this.#observer.setCurrentAt(observed.currentAt)
        return observed
      },
      () => {
        // Not logged: a request that needs PostgreSQL reports it.
        this.#hasFailed = true
        return null
      },
    )
    this.#reading = { startedAt, finished }
    void finished.finally(() => {
      this.#reading = null
    })
    return finished
  }

  async #poll(): Promise<ObservedVersion> {
    let readAt = performance.now()
    let state = await readSummaryState(this.#db)
    if (state.isFoldDue && !this.#isStopped) {
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
