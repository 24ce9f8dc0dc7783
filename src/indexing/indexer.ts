// The indexer: acquires the lease of an index, rebuilds it if there is a reason, and applies
// changes. docs/architecture.md follows one change of a product through these files.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../monitoring/describe-error.ts'
import type { IndexerState } from '../monitoring/indexer-state.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { toSentence } from '../text/to-sentence.ts'
import { applyBatch, type BatchResult } from './apply.ts'
import { ErrorLog, findErrorKind } from './errors.ts'
import { BackgroundJob, IntervalJob } from './jobs.ts'
import {
  acquireLease,
  executeUnderLease,
  type Lease,
  LeaseLost,
  leaseMs,
  readLeaseHolder,
  releaseLease,
  startLeaseRenewal,
} from './lease.ts'
import { removeOldIndexes } from './old-indexes.ts'
import { refreshPopularity } from './popularity.ts'
import { deleteUnfinishedRebuild, rebuild } from './rebuild.ts'
import {
  type IndexAddress,
  type IndexTarget,
  isRebuildRequested,
  markContents,
  registerIndex,
} from './registration.ts'
import { checkIndex, findCountMismatch, type ReasonName, type RebuildReason } from './restored.ts'
import {
  applySynonyms,
  haveSynonymsChangedInEngine,
  haveSynonymsChangedInTables,
} from './synonyms.ts'

// With a lease of 5 s, another indexer takes over within 10 s.
const standbyMs = 1_000
// The pause is part of the delay until a change is searchable.
const pollMs = 100
// A wrong index must be noticed soon, and the check costs few requests.
export const indexCheckInterval = { ms: 5_000 }
// New synonyms apply within seconds. The check reads one row.
const synonymTableCheckMs = 500
// Only somebody who changes them in the engine makes a difference.
const synonymEngineCheckMs = 60_000
// Old indexes cost memory of the engine and an outbox row for each change.
export const oldIndexCheckInterval = { ms: 60_000 }
// Counting a large catalogue is expensive, and a difference is rare.
const countCheckMs = 60_000
// A change that was committed between the two counts is no difference.
const countRecheckMs = 500
// A rebuild is expensive, and another one for the same reason will probably not help either.
const firstRebuildPauseMs = 60_000
const maxRebuildPauseMs = 3_600_000

export const waitingForTransactions =
  'Waiting for transactions that began before this index was registered.'

export type IndexerOptions = IndexAddress & {
  popularityIntervalMs: number
  log: LogLine
  /** The indexer notes here what it does, for metrics and health checks. */
  state: IndexerState
}

/**
 * Runs until `signal` is aborted or `endWhen` returns true. `endWhen` is called each time that the
 * end of the outbox is reached and no job is due, even if further changes arrive. It is also called
 * before each pause on standby.
 *
 * While another indexer holds the lease, this one stands by. It takes over if the other one has not
 * renewed the lease for `leaseMs`.
 *
 * After any error it starts over. With `endWhen`, it throws the error instead, unless the lease was
 * lost. It releases the lease when the run ends normally or is stopped. After an error it does not
 * release the lease, because a request may still be running. Other indexers wait until the lease
 * expires. An error that occurs during a stop is logged and not thrown.
 */
export async function runIndexer(
  options: IndexerOptions,
  signal: AbortSignal,
  endWhen?: () => Promise<boolean>,
): Promise<void> {
  const indexer = new Indexer(options, signal, endWhen)
  try {
    await indexer.repeatRuns()
  } finally {
    // Afterwards the caller may close the database.
    await indexer.waitForJobs()
  }
}

/** How long the next rebuild for a reason must wait, from when, and whether the log says so. */
type RebuildPause = { pauseMs: number; allowedAtMs: number; isLogged: boolean }

class Indexer {
  readonly #options: IndexerOptions
  readonly #signal: AbortSignal
  readonly #endWhen: (() => Promise<boolean>) | undefined
  readonly #holder = `${hostname()}, process ${process.pid}, ${randomBytes(4).toString('hex')}`
  readonly #errors: ErrorLog
  /** Lines that were logged since the last success of what they are about. */
  readonly #loggedOnce = new Set<string>()
  readonly #rebuildPauses = new Map<ReasonName, RebuildPause>()
  /** These two may outlast a run. */
  readonly #popularityJob: BackgroundJob
  readonly #removalJob: BackgroundJob

  constructor(options: IndexerOptions, signal: AbortSignal, endWhen?: () => Promise<boolean>) {
    const { db, log, state } = options
    this.#options = options
    this.#signal = signal
    this.#endWhen = endWhen
    this.#errors = new ErrorLog(log)
    const describe = (what: string, consequence: string) => ({
      failure: (cause: string) => `${what} failed: ${toSentence(cause)} ${consequence}`,
      recovery: `${what} works again.`,
    })
    this.#popularityJob = new BackgroundJob('popularity', () => refreshPopularity(db), {
      state,
      log,
      texts: describe('Counting popularity', 'Popularity stays as it was.'),
    })
    const remove = () => removeOldIndexes({ ...options, signal })
    this.#removalJob = new BackgroundJob('old_indexes', remove, {
      state,
      log,
      texts: describe('Removing old indexes', 'The indexes of older releases stay.'),
    })
  }

  async waitForJobs(): Promise<void> {
    await this.#popularityJob.waitUntilIdle()
    await this.#removalJob.waitUntilIdle()
  }

  /** Acquires the lease and runs, and starts over after each error. */
  async repeatRuns(): Promise<void> {
    const { db, registrationName, log, state } = this.#options
    const signal = this.#signal
    let isStandingBy = false
    while (!signal.aborted) {
      try {
        const onWait = () => log(waitingForTransactions)
        await registerIndex(db, registrationName, { onWait, signal })
        const lease = await acquireLease(db, registrationName, this.#holder)
        if (lease) {
          isStandingBy = false
          return await this.#runUnderLease(lease, lease.previousEnd)
        }
        if (await this.#endWhen?.()) return
        if (!isStandingBy) await this.#logStandby()
        isStandingBy = true
        state.activity = 'standing by'
        state.failing = null
        await pause(standbyMs, signal)
      } catch (error) {
        // This is the stop request, not a failure.
        if (signal.aborted && error === signal.reason) return
        state.countError(findErrorKind(error))
        if (signal.aborted) return this.#errors.write(error, 'The indexer stops.')
        if (this.#endWhen && !(error instanceof LeaseLost)) throw error
        this.#errors.write(error, 'Trying again.')
        await pause(this.#errors.nextPauseMs(), signal)
      }
    }
  }

  async #logStandby(): Promise<void> {
    const { db, registrationName, log } = this.#options
    const holder = await readLeaseHolder(db, registrationName)
    const other = holder === null ? 'Another indexer' : `Another indexer (${holder})`
    const consequence = this.#endWhen ? 'Waiting until it has updated the index.' : 'Standing by.'
    log(`${other} is running. ${consequence}`)
  }

  /** Runs, and releases the lease if another indexer may start at once. */
  async #runUnderLease(lease: Lease, previousLeaseEnd: Date): Promise<void> {
    const { db, log, state } = this.#options
    const renewal = startLeaseRenewal(db, lease, log)
    let mayRelease = false
    state.holdsLease = true
    try {
      await this.#run({ ...this.#options, lease }, previousLeaseEnd, () => {
        renewal.throwIfLost()
        this.#signal.throwIfAborted()
      })
      mayRelease = true
    } catch (error) {
      // Release only if the stop request itself ended the run.
      mayRelease = this.#signal.aborted && error === this.#signal.reason
      throw error
    } finally {
      renewal.stop()
      state.holdsLease = false
      // A run that ends normally or is stopped has waited for its requests to the engine, so
      // another indexer may start at once. After an error, a request that timed out may still be
      // running.
      if (mayRelease)
        await releaseLease(db, lease).catch((error: unknown) => {
          const reason = toSentence(describeError(error))
          const seconds = leaseMs / 1_000
          log(`The lease was not released and expires within ${seconds} s: ${reason}`, 'warn')
        })
    }
  }

  /**
   * Applies changes until stopped. Throws LeaseLost, and every error of PostgreSQL and engine.
   *
   * First runs all checks. Then it repeats these steps, and begins again after a rebuild in (3) or
   * a job in (4):
   *
   * 1. Run the checks that are due.
   * 2. Apply one batch of changes.
   * 3. If there was none, rebuild the index after a truncation or a request.
   * 4. Run one job: one that is due, or while changes arrive, one that is overdue.
   * 5. At the end of the outbox, if no job is due, note the success and ask `endWhen`.
   * 6. If there was no change, pause.
   */
  async #run(
    target: IndexTarget,
    previousLeaseEnd: Date,
    throwIfStopped: () => void,
  ): Promise<void> {
    const { popularityIntervalMs, state } = this.#options
    await deleteUnfinishedRebuild(target)
    throwIfStopped()
    await this.#check(target, previousLeaseEnd, throwIfStopped)
    const checks = [
      // Before the synonyms, because a rebuild also sets the synonyms.
      new IntervalJob(indexCheckInterval.ms, () => this.#check(target, null, throwIfStopped)),
      new IntervalJob(synonymTableCheckMs, () => this.#applyChangedSynonyms(target)),
    ]
    for (const check of checks) await check.run()
    // The most important first. Those in the background may take longer than a change may wait.
    const jobs = [
      new IntervalJob(countCheckMs, () => this.#checkCount(target, throwIfStopped)),
      new IntervalJob(synonymEngineCheckMs, () => this.#repairSynonyms(target)),
      new IntervalJob(popularityIntervalMs, () => void this.#popularityJob.start()),
      new IntervalJob(oldIndexCheckInterval.ms, () => void this.#removalJob.start()),
    ]
    state.activity = 'following changes'
    while (!this.#signal.aborted) {
      throwIfStopped()
      // (1)
      for (const check of checks) if (check.isDue()) await check.run()

      // (2)
      const { changeCount, hasReachedEnd, hasTruncation } = await this.#applyBatch(target)
      const isIdle = changeCount === 0

      // (3)
      const { db, registrationName } = target
      if (isIdle && (hasTruncation || (await isRebuildRequested(db, registrationName)))) {
        await this.#check(target, null, throwIfStopped)
        continue
      }

      // (4) At most one, so that changes do not wait for several.
      const job = jobs.find((each) => (isIdle ? each.isDue() : each.isOverdue()))
      if (job) {
        await job.run()
        continue
      }

      // (5) Only after all jobs. Otherwise, if a job always fails, each new run would log a
      // recovery first.
      if (jobs.some((each) => each.isDue()) || !hasReachedEnd) continue
      this.#noteUpToDate()
      if (await this.#endWhen?.()) return

      // (6)
      if (isIdle) await pause(pollMs, this.#signal)
    }
  }

  /** Applies one batch, and records its changes. */
  async #applyBatch(target: IndexTarget): Promise<BatchResult> {
    const { log, state } = this.#options
    const batch = await applyBatch(target, { log })
    // A batch was applied, so indexing works, even if more changes are pending.
    if (batch.changeCount > 0) state.failing = null
    return batch
  }

  /**
   * Notes that the last batch was read up to the end of the outbox, and is applied. Logs the first
   * time and each recovery.
   */
  #noteUpToDate(): void {
    const { log, state } = this.#options
    const isFirst = state.lastSuccessAt === null
    if (!this.#endWhen && isFirst) log('Following changes.')
    if (!this.#endWhen && !isFirst && this.#errors.isFailing) log('The indexer works again.')
    this.#errors.reset()
    state.recordSuccess()
  }

  /** Marks what is wrong with the index, and rebuilds it. */
  async #check(
    target: IndexTarget,
    previousLeaseEnd: Date | null,
    throwIfStopped: () => void,
  ): Promise<void> {
    const { db, lease, registrationName } = target
    const finding = await checkIndex(target, previousLeaseEnd)
    if (finding === null) return
    if (finding !== 'failed_over_without_loss')
      return this.#rebuildUnlessPaused(target, finding, throwIfStopped)
    await executeUnderLease(db, lease, (transaction) =>
      markContents(transaction, registrationName, 'settled'),
    )
    this.#options.log('PostgreSQL has failed over and has lost no change that the index contains.')
  }

  async #checkCount(target: IndexTarget, throwIfStopped: () => void): Promise<void> {
    if ((await findCountMismatch(target)) === null) return
    await pause(countRecheckMs, this.#signal)
    const reason = await findCountMismatch(target)
    if (reason !== null) await this.#rebuildUnlessPaused(target, reason, throwIfStopped)
  }

  /**
   * Rebuilds the index, unless a rebuild for this reason did not help and the pause after it is not
   * over: a minute, then two minutes, and so on up to an hour. If the rebuild throws, it may be
   * repeated at once.
   */
  async #rebuildUnlessPaused(
    target: IndexTarget,
    reason: RebuildReason,
    throwIfStopped: () => void,
  ): Promise<void> {
    const { name, text, checkIfRepeated } = reason
    const startedMs = performance.now()
    const last = checkIfRepeated === undefined ? undefined : this.#rebuildPauses.get(name)
    if (last && startedMs < last.allowedAtMs) {
      const seconds = Math.ceil((last.allowedAtMs - startedMs) / 1_000)
      const wait = `Waiting ${seconds} s before the next one. ${checkIfRepeated}`
      if (!last.isLogged) this.#options.log(`A rebuild did not help. ${text} ${wait}`, 'warn')
      last.isLogged = true
      return
    }
    await this.#rebuild(target, reason, throwIfStopped)
    // If the reason has not returned for an hour after the pause, the next one is short again.
    const isRepeated = last && startedMs - last.allowedAtMs <= maxRebuildPauseMs
    const pauseMs = isRepeated ? Math.min(2 * last.pauseMs, maxRebuildPauseMs) : firstRebuildPauseMs
    const allowedAtMs = performance.now() + pauseMs
    this.#rebuildPauses.set(name, { pauseMs, allowedAtMs, isLogged: false })
  }

  /** Rebuilds the index, and logs and records the start, the progress and the end. */
  async #rebuild(
    target: IndexTarget,
    { name, text, contents }: RebuildReason,
    throwIfStopped: () => void,
  ): Promise<void> {
    const { state, log } = this.#options
    const { db, lease, registrationName } = target
    throwIfStopped()
    if (contents)
      await executeUnderLease(db, lease, (transaction) =>
        markContents(transaction, registrationName, contents),
      )
    // Each run begins a failed build again, and gives another reason if the contents are unknown.
    this.#logOnce('build', `${text} Building the index.`)
    state.activity = 'rebuilding'
    state.rebuiltProducts = 0
    try {
      // Before the first index, popularity was perhaps never counted. If it were counted later,
      // every quoted product would be sent again.
      if (name === 'index_missing') await this.#popularityJob.start()
      const productCount = await rebuild(target, {
        throwIfStopped,
        onProgress: (count) => {
          state.rebuiltProducts = count
          state.failing = null
          log(`Indexed ${countNoun(count, 'product')}.`)
        },
        log,
      })
      this.#loggedOnce.delete('build')
      log(`The index contains ${countNoun(productCount, 'product')}.`)
    } finally {
      state.activity = 'following changes'
      state.rebuiltProducts = null
    }
  }

  async #applyChangedSynonyms(target: IndexTarget): Promise<void> {
    if (await haveSynonymsChangedInTables(target)) await applySynonyms(target, this.#logSynonyms)
  }

  /**
   * Sends the synonyms again if those of the engine differ. Not more often than this job runs,
   * because the engine might always return the synonyms in a different form.
   */
  async #repairSynonyms(target: IndexTarget): Promise<void> {
    if (await haveSynonymsChangedInEngine(target)) {
      this.#logOnce(
        'synonyms differ',
        'The synonyms differ from those of the search engine. Setting them again.',
      )
      await applySynonyms(target, this.#logSynonyms)
    } else
      for (const subject of [...this.#loggedOnce])
        if (subject !== 'build') this.#loggedOnce.delete(subject)
  }

  readonly #logSynonyms: LogLine = (line, level) => this.#logOnce(line, line, level)

  /** Logs one line about this subject, until its success deletes it from `#loggedOnce`. */
  #logOnce(subject: string, line: string, level?: Parameters<LogLine>[1]): void {
    if (this.#loggedOnce.has(subject)) return
    this.#loggedOnce.add(subject)
    this.#options.log(line, level)
  }
}

/**
 * Waits until the time has passed or the signal is aborted. Check the signal afterwards. `sleep`
 * with a signal rejects with an AbortError, not with the reason of the signal: the indexer would
 * count a stop as an error, log it, and keep its lease.
 */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Only the signal makes `sleep` reject.
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
