// The indexer: acquires the lease of an index, rebuilds it if there is a reason, and applies
// changes. docs/architecture.md follows one change of a product through these files.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../monitoring/describe-error.ts'
import type { IndexerState, RegularJob } from '../monitoring/indexer-state.ts'
import { RepetitionFilter } from '../monitoring/log/failure-log.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { toSentence } from '../text/to-sentence.ts'
import { applyBatch } from './apply.ts'
import { describeFailure, findErrorKind, reminderInterval } from './errors.ts'
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
import { queueLateWrites } from './outbox.ts'
import { refreshPopularity } from './popularity.ts'
import { deleteUnfinishedRebuild, rebuild } from './rebuild.ts'
import { type IndexAddress, type IndexTarget, markContents, registerIndex } from './registration.ts'
import { checkIndex, findCountMismatch, type RebuildReason } from './restored.ts'
import { applySynonyms, haveSynonymsChanged } from './synonyms.ts'

// With a lease of 5 s, another indexer takes over within 10 s.
const standbyMs = 1_000
// The pause is part of the delay until a change is searchable.
const pollMs = 100
// A wrong index must be noticed soon, and the check costs few requests.
const indexCheckMs = 5_000
// New synonyms apply within seconds. The check reads one row.
const synonymCheckMs = 500
// The engine may have failed only for a moment.
const rejectedSynonymsMs = 60_000
// Old indexes cost memory of the engine and an outbox row for each change.
export const oldIndexCheckInterval = { ms: 60_000 }
// Counting a large catalogue is expensive, and a difference is rare.
export const countCheckInterval = { ms: 60_000 }
// A change that was committed between the two counts is no difference.
const countRecheckMs = 500
// If a rebuild did not correct the number of documents, another one will probably not help either.
const firstRebuildPauseMs = 60_000
const maxRebuildPauseMs = 3_600_000
// Most errors are short, and the API uses a recovered engine within a second.
const retryPauseMs = 500
// Twenty attempts cover a restart of PostgreSQL.
const maxAttemptsAtStop = 20

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
    await indexer.finish()
  }
}

/** Work that is done once in each interval, and is due at once. */
type Task = { intervalMs: number; dueAtMs: number; work: () => unknown }

class Indexer {
  readonly #options: IndexerOptions
  readonly #signal: AbortSignal
  readonly #endWhen: (() => Promise<boolean>) | undefined
  readonly #holder = `${hostname()}, process ${process.pid}, ${randomBytes(4).toString('hex')}`
  /** Errors that end a run are logged again after the index was up to date. */
  readonly #errors = new RepetitionFilter(reminderInterval)
  readonly #repetitions = new RepetitionFilter(reminderInterval)
  /** Each run begins a failed build again. */
  #isBuildLogged = false
  #areSynonymsRejected = false
  /** How long the next rebuild because of a wrong number must wait, and until when. */
  #rebuildPause: { pauseMs: number; untilMs: number } | null = null
  /** Throws if the indexer is to stop or has lost its lease. */
  #throwIfStopped: () => void = () => undefined
  /** That of a run that has failed. What it has sent late must be queued again. */
  #lastLease: Lease | null = null
  /** What runs beside the indexer, and may outlast a run. */
  readonly #background = new Map<RegularJob, Promise<void>>()

  constructor(options: IndexerOptions, signal: AbortSignal, endWhen?: () => Promise<boolean>) {
    this.#options = options
    this.#signal = signal
    this.#endWhen = endWhen
  }

  /**
   * Ends what a run has left. Without the rows of late writes, outdated documents might stay in the
   * index, so this waits for a restart of PostgreSQL.
   */
  async finish(): Promise<void> {
    for (let attempt = 1; this.#lastLease; attempt++)
      try {
        await this.#queueLateWrites()
      } catch (error) {
        if (attempt === maxAttemptsAtStop) {
          this.#logFailure(error, 'Run `scripts/indexer.ts verify --repair` afterwards.')
          break
        }
        await sleep(retryPauseMs)
      }
    await Promise.all(this.#background.values())
  }

  async #queueLateWrites(): Promise<void> {
    if (this.#lastLease) await queueLateWrites(this.#options.db, this.#lastLease)
    this.#lastLease = null
  }

  /**
   * Starts a job beside the indexer, unless it is running. Resolves when it has ended. Its errors
   * are logged and recorded, and change nothing else: the log says with `consequence`.
   */
  #runInBackground(
    job: RegularJob,
    work: () => Promise<unknown>,
    consequence: string,
  ): Promise<void> {
    const running = this.#background.get(job)
    if (running) return running
    const { state } = this.#options
    const started = work()
      .then(
        () => void state.jobs.set(job, true),
        (error: unknown) => {
          state.jobs.set(job, false)
          this.#logOnce(`${toSentence(describeError(error))} ${consequence}`, 'warn')
        },
      )
      .finally(() => this.#background.delete(job))
    this.#background.set(job, started)
    return started
  }

  #countPopularity(): Promise<void> {
    const count = () => refreshPopularity(this.#options.db)
    return this.#runInBackground('popularity', count, 'Popularity stays as it was.')
  }

  #removeOldIndexes(): Promise<void> {
    const remove = () => removeOldIndexes({ ...this.#options, signal: this.#signal })
    return this.#runInBackground('old_indexes', remove, 'The indexes of older releases stay.')
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
        await this.#queueLateWrites()
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
        if (signal.aborted) return this.#logFailure(error, 'The indexer stops.')
        if (this.#endWhen && !(error instanceof LeaseLost)) throw error
        this.#logFailure(error, 'Trying again.')
        await pause(retryPauseMs, signal)
      }
    }
  }

  /** Logs an error that has ended a run, a bug with its stack. `consequence`: what happens now. */
  #logFailure(error: unknown, consequence: string): void {
    const { cause, stacks } = describeFailure(error)
    if (this.#errors.recordError(cause) === null) return
    this.#options.log(`Indexing failed ${cause} ${consequence}${stacks}`, stacks ? 'error' : 'warn')
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
    const renewal = startLeaseRenewal(db, lease)
    let mayRelease = false
    state.holdsLease = true
    this.#throwIfStopped = () => {
      renewal.throwIfLost()
      this.#signal.throwIfAborted()
    }
    try {
      await this.#run({ ...this.#options, lease }, previousLeaseEnd)
      mayRelease = true
    } catch (error) {
      // Release only if the stop request itself ended the run.
      mayRelease = this.#signal.aborted && error === this.#signal.reason
      this.#lastLease = lease
      throw error
    } finally {
      renewal.stop()
      state.holdsLease = false
      // A run that ends normally or is stopped has waited for its requests to the engine, so
      // another indexer may start at once. After an error, a request that timed out may still be
      // running.
      try {
        await this.#queueLateWrites()
        if (mayRelease) await releaseLease(db, lease)
      } catch (error) {
        const reason = toSentence(describeError(error))
        const seconds = leaseMs / 1_000
        if (mayRelease)
          log(`The lease was not released and expires within ${seconds} s: ${reason}`, 'warn')
      }
    }
  }

  /**
   * Applies changes until stopped. Throws LeaseLost, and every error of PostgreSQL and engine.
   *
   * Repeats these steps, and begins again after a rebuild in (3):
   *
   * 1. Do the task that has been due for longest, even while changes arrive all the time.
   * 2. Apply one batch of changes.
   * 3. If there was none, rebuild the index after a truncation or a request.
   * 4. At the end of the outbox, if no task is due, note the success and ask `endWhen`.
   * 5. If there was no change, pause.
   */
  async #run(target: IndexTarget, previousLeaseEnd: Date): Promise<void> {
    const { popularityIntervalMs, log, state } = this.#options
    await deleteUnfinishedRebuild(target)
    this.#throwIfStopped()
    await this.#check(target, previousLeaseEnd)
    const repeat = (intervalMs: number, work: () => unknown): Task => ({
      intervalMs,
      dueAtMs: performance.now(),
      work,
    })
    // Those in the background may take longer than a change may wait.
    const tasks = [
      repeat(indexCheckMs, () => this.#check(target, null)),
      repeat(synonymCheckMs, async () => {
        if (await haveSynonymsChanged(target)) await this.#applySynonyms(target)
      }),
      repeat(countCheckInterval.ms, () => this.#checkCount(target)),
      repeat(rejectedSynonymsMs, () => this.#areSynonymsRejected && this.#applySynonyms(target)),
      repeat(popularityIntervalMs, () => void this.#countPopularity()),
      repeat(oldIndexCheckInterval.ms, () => void this.#removeOldIndexes()),
    ]
    const findDueTask = () => {
      const task = tasks.reduce((first, each) => (each.dueAtMs < first.dueAtMs ? each : first))
      return performance.now() >= task.dueAtMs ? task : null
    }
    state.activity = 'following changes'
    while (!this.#signal.aborted) {
      this.#throwIfStopped()
      // (1)
      const task = findDueTask()
      if (task) {
        task.dueAtMs = performance.now() + task.intervalMs
        await task.work()
      }

      // (2)
      const batch = await applyBatch(target, { log })
      const isIdle = batch.changeCount === 0
      // A batch was applied, so indexing works, even if more changes are pending.
      if (!isIdle) state.failing = null

      // (3)
      if (isIdle && (batch.hasTruncation || batch.isRebuildRequested)) {
        await this.#check(target, null)
        continue
      }

      // (4) Only after all tasks. Otherwise, if a task always fails, each new run would log a
      // recovery first.
      if (findDueTask() || !batch.hasReachedEnd) continue
      this.#noteUpToDate()
      if (await this.#endWhen?.()) return

      // (5)
      if (isIdle) await pause(pollMs, this.#signal)
    }
  }

  /**
   * Notes that the last batch was read up to the end of the outbox, and is applied. Logs the first
   * time and each recovery.
   */
  #noteUpToDate(): void {
    const { log, state } = this.#options
    const isFirst = state.lastSuccessAt === null
    if (!this.#endWhen && isFirst) log('Following changes.')
    if (!this.#endWhen && !isFirst && !this.#errors.isEmpty()) log('The indexer works again.')
    this.#errors.clear()
    state.recordSuccess()
  }

  /** Marks what is wrong with the index, and rebuilds it. */
  async #check(target: IndexTarget, previousLeaseEnd: Date | null): Promise<void> {
    const { db, lease, registrationName } = target
    const finding = await checkIndex(target, previousLeaseEnd)
    if (finding === null) return
    if (finding !== 'failed_over_without_loss') return this.#rebuild(target, finding)
    await executeUnderLease(db, lease, (transaction) =>
      markContents(transaction, registrationName, 'settled'),
    )
    this.#options.log('PostgreSQL has failed over and has lost no change that the index contains.')
  }

  /**
   * Rebuilds an index with a wrong number of documents, unless a rebuild did not help and the pause
   * after it is not over: a minute, then two minutes, and so on up to an hour.
   */
  async #checkCount(target: IndexTarget): Promise<void> {
    if ((await findCountMismatch(target)) === null) return
    await pause(countRecheckMs, this.#signal)
    const reason = await findCountMismatch(target)
    if (reason === null) return
    const last = this.#rebuildPause
    if (last && performance.now() < last.untilMs)
      return this.#logOnce(
        `A rebuild did not help. ${reason.text} Another one follows after ` +
          `${last.pauseMs / 60_000} min. Does another program write to the index? ` +
          '`scripts/indexer.ts verify` lists what differs.',
        'warn',
      )
    await this.#rebuild(target, reason)
    const pauseMs = Math.min(last ? 2 * last.pauseMs : firstRebuildPauseMs, maxRebuildPauseMs)
    this.#rebuildPause = { pauseMs, untilMs: performance.now() + pauseMs }
  }

  /** Rebuilds the index, and logs and records the start, the progress and the end. */
  async #rebuild(target: IndexTarget, { name, text, contents }: RebuildReason): Promise<void> {
    const { state, log } = this.#options
    const { db, lease, registrationName } = target
    this.#throwIfStopped()
    if (contents)
      await executeUnderLease(db, lease, (transaction) =>
        markContents(transaction, registrationName, contents),
      )
    if (!this.#isBuildLogged) log(`${text} Building the index.`)
    this.#isBuildLogged = true
    state.activity = 'rebuilding'
    state.rebuiltProducts = 0
    try {
      // Before the first index, popularity was perhaps never counted. If it were counted later,
      // every quoted product would be sent again.
      if (name === 'index_missing') await this.#countPopularity()
      const productCount = await rebuild(target, {
        throwIfStopped: this.#throwIfStopped,
        onProgress: (count) => {
          state.rebuiltProducts = count
          state.failing = null
          log(`Indexed ${countNoun(count, 'product')}.`)
        },
        log,
      })
      this.#isBuildLogged = false
      log(`The index contains ${countNoun(productCount, 'product')}.`)
    } finally {
      state.activity = 'following changes'
      state.rebuiltProducts = null
    }
  }

  async #applySynonyms(target: IndexTarget): Promise<void> {
    this.#areSynonymsRejected = !(await applySynonyms(target, this.#logOnce))
  }

  /** Logs a line, unless it was logged within the last half hour. */
  readonly #logOnce: LogLine = (line, level) => {
    if (this.#repetitions.recordError(line) !== null) this.#options.log(line, level)
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
