// One run of the indexer under a lease: rebuilds the index if necessary, and applies changes.
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { IndexerState } from '../monitoring/indexer-state.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { timeouts } from '../timeouts.ts'
import { syncBatch } from './change-sync.ts'
import { deleteIndex } from './engine/engine-tasks.ts'
import { requireSingleServer } from './engine/single-server-check.ts'
import { removeUnusedIndexes } from './engine/unused-indexes.ts'
import { keepIndexAfterFailover } from './index-after-failover.ts'
import { isRebuildRequested } from './index-record.ts'
import { type LeaseRenewal, requireLease } from './indexer-lease.ts'
import type { LeasedTarget } from './leased-target.ts'
import type { PopularityRefresh } from './popularity.ts'
import { rebuild } from './rebuild/rebuild.ts'
import { RebuildBackoff } from './rebuild/rebuild-backoff.ts'
import {
  findRebuildReason,
  hasUnexplainedCountDifference,
  mustDeleteIndexFirst,
  type RebuildReason,
  rebuildReasonTexts,
} from './rebuild/rebuild-reason.ts'
import { ChangedLines } from './scheduling/changed-lines.ts'
import type { ErrorBackoff } from './scheduling/error-backoff.ts'
import { IntervalTask } from './scheduling/interval-task.ts'
import { pause } from './scheduling/pause.ts'
import { applySynonyms, haveSynonymsDiverged, haveWordsChanged } from './settings/synonym-sync.ts'

export type IndexerOptions = {
  db: Kysely<Tables>
  /** Creates a client of the engine with this key. */
  openClient: (key: string) => Meilisearch
  /** The indexer's key, with which each run creates its own keys. */
  indexerApiKey: string
  indexName: string
  registrationName: string
  popularityIntervalMs: number
  log: LogLine
  /** The indexer records here what it does, for metrics and health checks. */
  state: IndexerState
}

/** The clients of one engine, each with a key of its own. */
export type PreparedEngine = {
  /** Its client may write to the live index and to the index of a rebuild. */
  target: LeasedTarget
  /** May create indexes and read every task. */
  rebuildClient: Meilisearch
  /** Has the indexer's key. */
  indexerClient: Meilisearch
}

/** What the run needs from the code that started it. */
type RunContext = {
  prepared: PreparedEngine
  renewal: LeaseRenewal
  popularity: PopularityRefresh
  /** It is reset whenever every change has been applied. */
  backoff: ErrorBackoff
  stop: { signal: AbortSignal; isUpToDate: (() => Promise<boolean>) | undefined }
}

const followingChanges = 'Following changes.'

export class IndexerRun {
  readonly #options: IndexerOptions
  readonly #context: RunContext
  readonly #target: LeasedTarget
  readonly #log: LogLine
  readonly #state: IndexerState
  readonly #rebuildBackoff: RebuildBackoff
  /** Synonyms that the engine rejects are sent repeatedly, and logged once. */
  readonly #synonymLog: ChangedLines

  constructor(options: IndexerOptions, context: RunContext) {
    this.#options = options
    this.#context = context
    this.#target = context.prepared.target
    this.#log = options.log
    this.#state = options.state
    this.#rebuildBackoff = new RebuildBackoff(options.log)
    this.#synonymLog = new ChangedLines(options.log)
  }

  /** Applies changes until stopped. Throws LeaseLost, and every error of PostgreSQL and engine. */
  async run(): Promise<void> {
    const { renewal, stop, backoff } = this.#context
    const checks = this.#createChecks()
    const idleTasks = this.#createIdleTasks()
    await this.#rebuildIfNecessary()
    this.#state.activity = 'following changes'
    // After an error, this is logged when every change has been applied.
    if (!stop.isUpToDate && !backoff.isFailing) this.#log(followingChanges)
    while (!stop.signal.aborted) {
      renewal.throwIfLost()
      for (const check of checks) if (check.isDue()) await check.run()

      const changeCount = await syncBatch(this.#target)
      this.#state.appliedChanges += changeCount
      if (changeCount > 0) continue

      this.#recordUpToDate()
      if (await this.#mustRebuildNow()) {
        await this.#rebuildIfNecessary()
        continue
      }
      // At most one, so that changes do not wait for several.
      const idleTask = idleTasks.find((task) => task.isDue())
      if (idleTask) {
        await idleTask.run()
        continue
      }
      if (await stop.isUpToDate?.()) return
      await pause(timeouts.indexing.poll.ms, stop.signal)
    }
  }

  /**
   * Returns the checks before a batch, in this order: whether the URL leads to one server, because
   * otherwise the other checks may ask the wrong server; whether the index must be rebuilt, which
   * also sets its synonyms; and whether the words have changed.
   */
  #createChecks(): IntervalTask[] {
    const { engineCheck, rebuildCheck, wordsCheck } = timeouts.indexing
    const address = { ...this.#target, client: this.#context.prepared.indexerClient }
    return [
      new IntervalTask(engineCheck.ms, () => requireSingleServer(address)),
      // run() makes the first check itself.
      new IntervalTask(rebuildCheck.ms, () => this.#rebuildIfNecessary(), { isDueAtOnce: false }),
      new IntervalTask(wordsCheck.ms, () => this.#applyChangedWords()),
    ]
  }

  /** Returns the tasks for the time when no change is pending, the most important first. */
  #createIdleTasks(): IntervalTask[] {
    const { countCheck, synonymCheck, unusedCheck } = timeouts.indexing
    const { db, registrationName } = this.#target
    return [
      new IntervalTask(countCheck.ms, () => this.#rebuildIfCountDiffers()),
      new IntervalTask(synonymCheck.ms, () => this.#repairSynonyms()),
      new IntervalTask(this.#options.popularityIntervalMs, async () => {
        // In the background: counting may take longer than a change may wait.
        void this.#context.popularity.start()
      }),
      new IntervalTask(unusedCheck.ms, () =>
        removeUnusedIndexes(db, registrationName, this.#options),
      ),
    ]
  }

  /** Records that every change has been applied. */
  #recordUpToDate(): void {
    const { stop, backoff } = this.#context
    if (!stop.isUpToDate && backoff.isFailing) this.#log(followingChanges)
    backoff.reset()
    this.#state.recordSuccess()
  }

  async #mustRebuildNow(): Promise<boolean> {
    const { db, registrationName, progress } = this.#target
    return progress.wasTruncated || (await isRebuildRequested(db, registrationName))
  }

  async #rebuildIfNecessary(): Promise<void> {
    const { rebuildClient } = this.#context.prepared
    await keepIndexAfterFailover(this.#target, {
      rebuildClient,
      log: this.#log,
      throwIfStopped: () => this.#throwIfStopped(),
    })
    const reason = await findRebuildReason(this.#target, rebuildClient)
    if (reason !== null && this.#rebuildBackoff.tryStartRebuild(reason))
      await this.#rebuildIndex(reason)
  }

  async #rebuildIfCountDiffers(): Promise<void> {
    if (!(await hasUnexplainedCountDifference(this.#target))) return
    await pause(timeouts.indexing.countRecheck.ms, this.#context.stop.signal)
    const stillDiffers = await hasUnexplainedCountDifference(this.#target)
    if (stillDiffers && this.#rebuildBackoff.tryStartRebuild('count_mismatch'))
      await this.#rebuildIndex('count_mismatch')
  }

  async #applyChangedWords(): Promise<void> {
    if (await haveWordsChanged(this.#target))
      await applySynonyms(this.#target, this.#synonymLog.write)
  }

  /** At most once a minute, because the engine might always return them in a different form. */
  async #repairSynonyms(): Promise<void> {
    const synonymLog = this.#synonymLog
    if (!(await haveSynonymsDiverged(this.#target))) return synonymLog.reset()
    synonymLog.write('The synonyms differ from those of the search engine. Setting them again.')
    await applySynonyms(this.#target, synonymLog.write)
  }

  async #rebuildIndex(reason: RebuildReason): Promise<void> {
    // PostgreSQL may have failed over after keepIndexAfterFailover and before the reason was found.
    // Then the lease is lost, and the next run keeps the index.
    await requireLease(this.#target)
    this.#log(`${rebuildReasonTexts[reason]} Building the index.`)
    const recordEnd = this.#state.startRebuild()
    try {
      const productCount = await this.#buildIndex(reason)
      recordEnd(true)
      this.#log(`The index contains ${countNoun(productCount, 'product')}.`)
    } catch (error) {
      recordEnd(false)
      throw error
    }
  }

  async #buildIndex(reason: RebuildReason): Promise<number> {
    const { prepared, popularity } = this.#context
    const { client, indexName } = this.#target
    if (mustDeleteIndexFirst(reason)) await deleteIndex(client, indexName)
    if (reason === 'index_missing') await popularity.start()
    return rebuild(this.#target, {
      rebuildClient: prepared.rebuildClient,
      throwIfStopped: () => this.#throwIfStopped(),
      onProgress: (count) => {
        if (this.#state.rebuild) this.#state.rebuild.products = count
        this.#state.failing = null
        this.#log(`Indexed ${countNoun(count, 'product')}.`)
      },
      log: this.#log,
    })
  }

  #throwIfStopped(): void {
    this.#context.renewal.throwIfLost()
    this.#context.stop.signal.throwIfAborted()
  }
}
