// One run of the indexer under a lease: rebuilds the index if necessary, and applies changes.
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { IndexerState } from '../monitoring/indexer-state.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { applyBatch, type BatchResult } from './change-sync.ts'
import { deleteIndex } from './engine/engine-tasks.ts'
import type { ErrorBackoff } from './error-backoff.ts'
import type { LiveTarget } from './index-address.ts'
import { keepIndexAfterFailover } from './index-after-failover.ts'
import { type LeaseRenewal, requireLease } from './lease/indexer-lease.ts'
import { rebuild } from './rebuild/rebuild.ts'
import type { RebuildBackoff } from './rebuild/rebuild-backoff.ts'
import {
  findCountMismatch,
  findRebuildReason,
  type RebuildReason,
} from './rebuild/rebuild-reason.ts'
import { isRebuildRequested } from './registration.ts'
import type { BackgroundJob } from './scheduling/background-job.ts'
import { IntervalJob } from './scheduling/interval-job.ts'
import type { OnceLog } from './scheduling/once-log.ts'
import { pause } from './scheduling/pause.ts'
import {
  applySynonyms,
  haveSynonymsChangedInEngine,
  haveSynonymsChangedInTables,
} from './settings/synonym-sync.ts'
import { requireSingleServer } from './single-server-check.ts'

// The pause is part of the delay until a change is searchable.
const pollMs = 100
// A wrong index must be noticed soon, and the check costs few requests.
const rebuildCheckMs = 5_000
// Their answers would be mixed. The check costs eight small requests.
export const engineCheckInterval = { ms: 10_000 }
// New synonyms apply within seconds. The check reads one row.
const synonymTableCheckMs = 500
// Only somebody who changes them in the engine makes a difference.
const synonymEngineCheckMs = 60_000
// They cost memory of the engine and an outbox row for each change.
export const unusedCheckInterval = { ms: 30_000 }
// Counting a large catalogue is expensive, and a difference is rare.
const countCheckMs = 60_000
// A change that was committed between the two counts is no difference.
const countRecheckMs = 500

export type IndexerOptions = {
  db: Kysely<Tables>
  /** Creates a client of the engine with this key. */
  openClient: (key: string) => Meilisearch
  /** The indexer's key, with which each run creates its run keys. */
  indexerApiKey: string
  indexName: string
  registrationName: string
  popularityIntervalMs: number
  log: LogLine
  /** The indexer notes here what it does, for metrics and health checks. */
  state: IndexerState
}

/** The same for every run: the indexer starts a new one after each error. */
export type RunOptions = IndexerOptions & {
  /** Stops the run. */
  signal: AbortSignal
  /** See runIndexer. */
  endWhen: (() => Promise<boolean>) | undefined
  /** Reset when the end of the outbox is reached, and every check and job has succeeded. */
  backoff: ErrorBackoff
  rebuildBackoff: RebuildBackoff
  /**
   * Announces builds. Reset after a successful build. Each run begins a failed build again, which
   * must not be announced each time.
   */
  buildLog: OnceLog
  /** Reset when the engine has the synonyms. Rejected ones are sent again and again. */
  synonymLog: OnceLog
  /** These two may outlast a run. */
  popularityJob: BackgroundJob
  unusedIndexRemoval: BackgroundJob
}

export class IndexerRun {
  readonly #options: RunOptions
  readonly #target: LiveTarget
  readonly #renewal: LeaseRenewal

  constructor(options: RunOptions, target: LiveTarget, renewal: LeaseRenewal) {
    this.#options = options
    this.#target = target
    this.#renewal = renewal
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
  async run(): Promise<void> {
    const { signal, endWhen, state } = this.#options
    const { db, registrationName } = this.#target
    const checks = this.#createChecks()
    for (const check of checks) await check.run()
    const jobs = this.#createJobs()
    state.activity = 'following changes'
    while (!signal.aborted) {
      this.#renewal.throwIfLost()
      // (1)
      for (const check of checks) if (check.isDue()) await check.run()

      // (2)
      const { changeCount, hasReachedEnd, hasTruncation } = await this.#applyBatch()
      const isIdle = changeCount === 0

      // (3)
      if (isIdle && (hasTruncation || (await isRebuildRequested(db, registrationName)))) {
        await this.#rebuildIfNecessary()
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
      if (await endWhen?.()) return

      // (6)
      if (isIdle) await pause(pollMs, signal)
    }
  }

  /** Applies one batch, and records its changes. */
  async #applyBatch(): Promise<BatchResult> {
    const { log, state } = this.#options
    const batch = await applyBatch(this.#target, { log })
    state.appliedChanges += batch.changeCount
    // A batch was applied, so indexing works, even if more changes are pending.
    if (batch.changeCount > 0) state.failing = null
    return batch
  }

  /** Returns the checks before a batch, in this order. */
  #createChecks(): IntervalJob[] {
    const { openClient, indexerApiKey } = this.#options
    const index = { ...this.#target, keyClient: openClient(indexerApiKey) }
    return [
      // First, because the other checks may otherwise ask the wrong server.
      new IntervalJob(engineCheckInterval.ms, () => requireSingleServer(index)),
      // Before the synonyms, because a rebuild also sets the synonyms.
      new IntervalJob(rebuildCheckMs, () => this.#rebuildIfNecessary()),
      new IntervalJob(synonymTableCheckMs, () => this.#applyChangedSynonyms()),
    ]
  }

  /**
   * Returns the jobs, the most important first. A job that is due waits until no change is pending,
   * but at most for `maxJobDelay` of interval-job.ts.
   */
  #createJobs(): IntervalJob[] {
    const { popularityJob, popularityIntervalMs, unusedIndexRemoval } = this.#options
    // Not awaited: it may take longer than a change may wait.
    const inBackground = (job: BackgroundJob) => () => void job.start()
    return [
      new IntervalJob(countCheckMs, () => this.#rebuildIfCountDiffers()),
      new IntervalJob(synonymEngineCheckMs, () => this.#repairSynonyms()),
      new IntervalJob(popularityIntervalMs, inBackground(popularityJob)),
      new IntervalJob(unusedCheckInterval.ms, inBackground(unusedIndexRemoval)),
    ]
  }

  /**
   * Notes that the last batch was read up to the end of the outbox, and is applied. Logs the first
   * time and each recovery.
   */
  #noteUpToDate(): void {
    const { backoff, endWhen, log, state } = this.#options
    const isFirst = state.lastSuccessMs === null
    if (!endWhen && isFirst) log('Following changes.')
    if (!endWhen && !isFirst && backoff.isFailing) log('The indexer works again.')
    backoff.reset()
    state.recordSuccess()
  }

  async #rebuildIfNecessary(): Promise<void> {
    const { log } = this.#options
    // If this keeps the index, findRebuildReason no longer finds `database_restored`.
    await keepIndexAfterFailover(this.#target, {
      log,
      throwIfStopped: () => this.#throwIfStopped(),
    })
    const reason = await findRebuildReason(this.#target)
    if (reason !== null) await this.#rebuildUnlessBackingOff(reason)
  }

  async #rebuildIfCountDiffers(): Promise<void> {
    if ((await findCountMismatch(this.#target)) === null) return
    await pause(countRecheckMs, this.#options.signal)
    const reason = await findCountMismatch(this.#target)
    if (reason !== null) await this.#rebuildUnlessBackingOff(reason)
  }

  #rebuildUnlessBackingOff(reason: RebuildReason): Promise<void> {
    return this.#options.rebuildBackoff.runUnlessBackingOff(reason, () => this.#runRebuild(reason))
  }

  async #applyChangedSynonyms(): Promise<void> {
    if (await haveSynonymsChangedInTables(this.#target))
      await applySynonyms(this.#target, this.#options.synonymLog.write)
  }

  /**
   * Sends the synonyms again if those of the engine differ. Not more often than this job runs,
   * because the engine might always return the synonyms in a different form.
   */
  async #repairSynonyms(): Promise<void> {
    const { synonymLog } = this.#options
    if (!(await haveSynonymsChangedInEngine(this.#target))) return synonymLog.reset()
    synonymLog.write('The synonyms differ from those of the search engine. Setting them again.')
    await applySynonyms(this.#target, synonymLog.write)
  }

  /** Rebuilds the index, and logs and records the start, the progress and the end. */
  async #runRebuild(reason: RebuildReason): Promise<void> {
    const { popularityJob, state, log, buildLog } = this.#options
    const target = this.#target
    // PostgreSQL may have failed over after keepIndexAfterFailover and before the reason was found.
    // Then the lease is lost, and the next run keeps the index.
    await requireLease(target.db, target.lease)
    this.#throwIfStopped()
    buildLog.write(`${reason.text} Building the index.`)
    const endRebuild = state.startRebuild()
    try {
      if (reason.deletesIndexFirst) await deleteIndex(target.client, target.indexName)
      // Before the first index, popularity was perhaps never counted. If it were counted later,
      // every quoted product would be sent again.
      if (reason.name === 'index_missing') await popularityJob.start()
      const productCount = await rebuild(target, {
        throwIfStopped: () => this.#throwIfStopped(),
        onProgress: (count) => {
          if (state.rebuild) state.rebuild.products = count
          state.failing = null
          log(`Indexed ${countNoun(count, 'product')}.`)
        },
        log,
      })
      endRebuild(true)
      buildLog.reset()
      log(`The index contains ${countNoun(productCount, 'product')}.`)
    } catch (error) {
      endRebuild(false)
      throw error
    }
  }

  #throwIfStopped(): void {
    this.#renewal.throwIfLost()
    this.#options.signal.throwIfAborted()
  }
}
