// The indexer: acquires the lease of an engine, rebuilds the index if necessary, follows changes.
// docs/indexing.md follows one change of a product through these files and explains the terms.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import { IndexerState } from '../monitoring/indexer-state.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { timeouts } from '../timeouts.ts'
import { type SyncTarget, syncBatch } from './change-sync.ts'
import {
  ensureEngineKeys,
  nextIndexName,
  readDatabasesOfKeys,
  replaceIndexerKeys,
} from './engine/engine-keys.ts'
import { deleteIndex, deleteRebuildLeftovers } from './engine/engine-tasks.ts'
import {
  recordSeveralServers,
  requireSingleServer,
  SeveralServersFound,
} from './engine/single-server-check.ts'
import { removeUnusedIndexes } from './engine/unused-indexes.ts'
import { keepIndexAfterFailover, recordOtherTimeline } from './index-after-failover.ts'
import { isRebuildRequested } from './index-record.ts'
import { findErrorKind } from './indexer-error-kind.ts'
import {
  type AcquiredLease,
  acquireLease,
  LeaseLost,
  type LeaseRenewal,
  releaseLease,
  startLeaseRenewal,
} from './indexer-lease.ts'
import { OutboxProgress } from './outbox-progress.ts'
import { PopularityRefresh } from './popularity.ts'
import { rebuild } from './rebuild/rebuild.ts'
import { RebuildBackoff } from './rebuild/rebuild-backoff.ts'
import {
  findRebuildReason,
  hasUnexplainedCountDifference,
  mustDeleteIndexFirst,
  type RebuildReason,
  rebuildReasonTexts,
} from './rebuild/rebuild-reason.ts'
import { deleteRebuildRecord } from './rebuild/rebuild-record.ts'
import { registerEngine } from './register-engine.ts'
import { ChangedLines } from './scheduling/changed-lines.ts'
import { ErrorBackoff } from './scheduling/error-backoff.ts'
import {
  createDueCheck,
  type IntervalTask,
  runDueTasks,
  runFirstDueTask,
} from './scheduling/interval-tasks.ts'
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
  state?: IndexerState
}

type Stop = {
  signal: AbortSignal
  /** Called when no change is pending. If it returns true, the indexer stops. */
  isUpToDate: (() => Promise<boolean>) | undefined
}

/**
 * Runs until `signal` is aborted or `isUpToDate` returns true. While another indexer holds the
 * lease it stands by, and takes over within 10 s if the other one dies.
 *
 * After any error it starts over with a new fencing token and new keys, so that the engine rejects
 * a late request of the failed run. With `isUpToDate`, it throws the error instead. It releases the
 * lease when the run ends normally or is aborted. After an error it keeps the lease: until it
 * expires, only the same indexer can start over.
 */
export async function runIndexer(
  options: IndexerOptions,
  signal: AbortSignal,
  isUpToDate?: () => Promise<boolean>,
): Promise<void> {
  const { db, registrationName, log, state = new IndexerState() } = options
  const holder = `${hostname()}, process ${process.pid}, ${randomBytes(4).toString('hex')}`
  const backoff = new ErrorBackoff(log)
  let isStandingBy = false
  while (!signal.aborted) {
    try {
      await registerEngine(db, registrationName, () => log(waitingForTransactions))
      const lease = await acquireLease(db, registrationName, holder)
      if (lease) {
        isStandingBy = false
        return await runUnderLease({ ...options, state }, lease, { signal, isUpToDate }, backoff)
      }
      if (await isUpToDate?.()) return
      if (!isStandingBy) log(isUpToDate ? waitingForOtherIndexer : standingBy)
      isStandingBy = true
      state.activity = 'standing by'
      state.failing = null
      await pause(timeouts.indexing.standby.ms, signal)
    } catch (error) {
      if (signal.aborted) return
      state.countError(findErrorKind(error))
      if (isUpToDate && !(error instanceof LeaseLost)) throw error
      await backoff.wait(error, signal)
    }
  }
}

export const waitingForTransactions =
  'Waiting for transactions that began before this engine was registered.'
const followingChanges = 'Following changes.'
const standingBy = 'Another indexer is running. Standing by.'
const waitingForOtherIndexer = 'Another indexer is running. Waiting until it has updated the index.'

type ObservedOptions = IndexerOptions & { state: IndexerState }

/** Everything that one run under a lease needs. */
type Run = {
  options: ObservedOptions
  backoff: ErrorBackoff
  stop: Stop
  renewal: LeaseRenewal
  popularity: PopularityRefresh
  rebuildBackoff: RebuildBackoff
  /** Synonyms that the engine rejects are sent repeatedly, and logged once. */
  synonymLog: ChangedLines
  target: SyncTarget
  /** A client that may create indexes and read every task. */
  rebuildClient: Meilisearch
  /** A client with the indexer's key. */
  indexerClient: Meilisearch
}

/** Prepares the engine and follows changes. Resets `backoff` whenever every change is applied. */
async function runUnderLease(
  options: ObservedOptions,
  lease: AcquiredLease,
  stop: Stop,
  backoff: ErrorBackoff,
): Promise<void> {
  const { db, log, state } = options
  const renewal = startLeaseRenewal(db, lease)
  const popularity = new PopularityRefresh(db, log, {
    onResult: (succeeded) => state.recordTask('popularity', succeeded),
  })
  const rebuildBackoff = new RebuildBackoff(log)
  let hasEndedNormally = false
  state.holdsLease = true
  try {
    const clients = await prepareEngine(options, lease, stop.signal)
    const synonymLog = new ChangedLines(log)
    const run = {
      options,
      stop,
      renewal,
      popularity,
      rebuildBackoff,
      backoff,
      synonymLog,
      ...clients,
    }
    await followChanges(run)
    hasEndedNormally = true
  } finally {
    state.holdsLease = false
    await popularity.running
    renewal.stop()
    // In these cases no request to the engine is still running, so another indexer may start at
    // once. If the release fails, the lease expires.
    if (hasEndedNormally || stop.signal.aborted)
      await releaseLease(db, lease).catch(() => undefined)
  }
}

/** Replaces the keys of the previous indexer and deletes the remains of its rebuild. */
async function prepareEngine(
  { db, openClient, indexerApiKey, indexName, registrationName }: IndexerOptions,
  lease: AcquiredLease,
  signal: AbortSignal,
): Promise<Pick<Run, 'target' | 'rebuildClient' | 'indexerClient'>> {
  const indexerClient = openClient(indexerApiKey)
  const index = { db, registrationName, indexName }
  await checkSingleServer(index, indexerClient)
  await ensureEngineKeys(indexerClient)
  const databaseIdentities = await readDatabasesOfKeys(indexerClient, index)
  await recordOtherTimeline({ db, registrationName, lease }, databaseIdentities)
  const keys = await replaceIndexerKeys(indexerClient, { ...lease, indexName })
  // Copies of one server had the same keys until the line above created new ones on one of them.
  await checkSingleServer(index, indexerClient)
  await recordSeveralServers(db, registrationName, false)
  // The previous indexer may still be writing. Requests with its keys that the engine has already
  // accepted end within this time.
  if (!lease.wasReleased) await pause(timeouts.indexing.keyReplacement.ms, signal)
  const engine = openClient(keys.documents)
  const rebuildClient = openClient(keys.rebuild)
  const progress = new OutboxProgress(db, registrationName)
  const target: SyncTarget = { db, engine, indexName, registrationName, lease, progress }
  await deleteRebuildLeftovers(engine, rebuildClient, nextIndexName(indexName))
  await deleteRebuildRecord(target)
  return { target, rebuildClient, indexerClient }
}

/** Throws SeveralServersFound, and records it, if the URL leads to several servers. */
async function checkSingleServer(
  { db, registrationName, indexName }: Pick<SyncTarget, 'db' | 'registrationName' | 'indexName'>,
  indexerClient: Meilisearch,
): Promise<void> {
  try {
    await requireSingleServer({ engine: indexerClient, registrationName, indexName })
  } catch (error) {
    if (error instanceof SeveralServersFound) await recordSeveralServers(db, registrationName, true)
    throw error
  }
}

/** Applies changes until stopped. Checks at intervals whether the index must be rebuilt. */
async function followChanges(run: Run): Promise<void> {
  const { target, stop, renewal, options, backoff } = run
  const { state } = options
  const checks = createChecks(run)
  const idleTasks = createIdleTasks(run)

  await rebuildIfNecessary(run)
  state.activity = 'following changes'
  // After an error, this is logged when every change has been applied.
  if (!stop.isUpToDate && !backoff.isFailing) options.log(followingChanges)
  while (!stop.signal.aborted) {
    renewal.throwIfLost()
    await runDueTasks(checks)
    const changeCount = await syncBatch(target)
    state.appliedChanges += changeCount
    if (changeCount > 0) continue
    recordUpToDate(run)
    if (await mustRebuildNow(target)) {
      await rebuildIfNecessary(run)
      continue
    }
    if (await runFirstDueTask(idleTasks)) continue
    if (await stop.isUpToDate?.()) return
    await pause(timeouts.indexing.poll.ms, stop.signal)
  }
}

/** Records that every change has been applied. */
function recordUpToDate({ stop, backoff, options: { log, state } }: Run): void {
  if (!stop.isUpToDate && backoff.isFailing) log(followingChanges)
  backoff.reset()
  state.recordSuccess()
}

/**
 * Returns the checks before a batch, in this order: whether the URL leads to one server, because
 * otherwise the other checks may ask the wrong server; whether the index must be rebuilt, which
 * also sets its synonyms; and whether the words have changed.
 */
function createChecks(run: Run): IntervalTask[] {
  const { target, indexerClient, synonymLog } = run
  const { engineCheck, rebuildCheck, wordsCheck } = timeouts.indexing
  return [
    {
      takeIfDue: createDueCheck(engineCheck.ms),
      work: () => checkSingleServer(target, indexerClient),
    },
    {
      // followChanges() makes the first check itself.
      takeIfDue: createDueCheck(rebuildCheck.ms, { isDueAtOnce: false }),
      work: () => rebuildIfNecessary(run),
    },
    {
      takeIfDue: createDueCheck(wordsCheck.ms),
      async work() {
        if (await haveWordsChanged(target)) await applySynonyms(target, synonymLog.write)
      },
    },
  ]
}

/** Returns the tasks for the time when no change is pending, the most important first. */
function createIdleTasks(run: Run): IntervalTask[] {
  const { target, options, popularity } = run
  const { countCheck, synonymCheck, unusedCheck } = timeouts.indexing
  return [
    { takeIfDue: createDueCheck(countCheck.ms), work: () => rebuildIfCountDiffers(run) },
    { takeIfDue: createDueCheck(synonymCheck.ms), work: () => repairSynonyms(run) },
    {
      takeIfDue: createDueCheck(options.popularityIntervalMs),
      // In the background: counting may take longer than a change may wait.
      work: async () => void popularity.start(),
    },
    {
      takeIfDue: createDueCheck(unusedCheck.ms),
      work: () => removeUnusedIndexes(target.db, target.registrationName, options),
    },
  ]
}

async function mustRebuildNow({ db, registrationName, progress }: SyncTarget): Promise<boolean> {
  return progress?.wasTruncated || (await isRebuildRequested(db, registrationName))
}

async function rebuildIfNecessary(run: Run): Promise<void> {
  await keepIndexAfterFailover(run.target, {
    rebuildClient: run.rebuildClient,
    log: run.options.log,
    throwIfStopped: () => throwIfStopped(run),
  })
  const reason = await findRebuildReason(run.target, run.rebuildClient)
  if (reason !== null && run.rebuildBackoff.tryStartRebuild(reason)) await rebuildIndex(run, reason)
}

async function rebuildIfCountDiffers(run: Run): Promise<void> {
  if (!(await hasUnexplainedCountDifference(run.target))) return
  await pause(timeouts.indexing.countRecheck.ms, run.stop.signal)
  const stillDiffers = await hasUnexplainedCountDifference(run.target)
  if (stillDiffers && run.rebuildBackoff.tryStartRebuild('count_mismatch'))
    await rebuildIndex(run, 'count_mismatch')
}

/** At most once a minute, because the engine might always return them in a different form. */
async function repairSynonyms({ target, synonymLog }: Run): Promise<void> {
  if (!(await haveSynonymsDiverged(target))) return synonymLog.reset()
  synonymLog.write('The synonyms differ from those of the search engine. Setting them again.')
  await applySynonyms(target, synonymLog.write)
}

async function rebuildIndex(run: Run, reason: RebuildReason): Promise<void> {
  const { log, state } = run.options
  log(`${rebuildReasonTexts[reason]} Building the index.`)
  const recordEnd = state.startRebuild()
  try {
    const productCount = await buildIndex(run, reason)
    recordEnd(true)
    log(`The index contains ${countNoun(productCount, 'product')}.`)
  } catch (error) {
    recordEnd(false)
    throw error
  }
}

async function buildIndex(run: Run, reason: RebuildReason): Promise<number> {
  const { target } = run
  const { log, state } = run.options
  if (mustDeleteIndexFirst(reason)) await deleteIndex(target.engine, target.indexName)
  if (reason === 'index_missing') await run.popularity.start()
  return rebuild(target, {
    rebuildClient: run.rebuildClient,
    throwIfStopped: () => throwIfStopped(run),
    onProgress: (count) => {
      if (state.rebuild) state.rebuild.products = count
      state.failing = null
      log(`Indexed ${countNoun(count, 'product')}.`)
    },
    log,
  })
}

function throwIfStopped({ renewal, stop }: Run): void {
  renewal.throwIfLost()
  stop.signal.throwIfAborted()
}
