// The indexer: acquires the lease of an index, prepares the engine, and starts a run.
// docs/architecture.md explains the terms and follows one change of a product through these files.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../monitoring/describe-error.ts'
import { toSentence } from '../text/to-sentence.ts'
import { ensurePermanentKeys } from './engine/permanent-keys.ts'
import { readDatabasesOfRunKeys, replaceRunKeys } from './engine/run-keys.ts'
import { ErrorBackoff } from './error-backoff.ts'
import type { LiveTarget } from './index-address.ts'
import { markUnnoticedFailover } from './index-after-failover.ts'
import { findErrorKind } from './indexer-error-kind.ts'
import { type IndexerOptions, IndexerRun, type RunOptions } from './indexer-run.ts'
import { createPopularityJob } from './jobs/popularity.ts'
import { createUnusedIndexRemoval } from './jobs/unused-indexes.ts'
import {
  type AcquiredLease,
  acquireLease,
  executeUnderLease,
  LeaseLost,
  leaseMs,
  readLeaseHolder,
  releaseLease,
  startLeaseRenewal,
} from './lease/indexer-lease.ts'
import { OutboxCursor } from './outbox.ts'
import { RebuildBackoff } from './rebuild/rebuild-backoff.ts'
import { deleteNextIndex, deleteRebuildRows } from './rebuild/rebuild-start-and-end.ts'
import { registerIndex } from './register-and-wait.ts'
import { markSeveralServers } from './registration.ts'
import { OnceLog } from './scheduling/once-log.ts'
import { pause } from './scheduling/pause.ts'
import { requireSingleServer } from './single-server-check.ts'

// With a lease of 5 s, another indexer takes over within 10 s.
const standbyMs = 1_000
// A request that the engine accepted just before is queued ahead of the new ones.
export const keyReplacementPause = { ms: 500 }

export const waitingForTransactions =
  'Waiting for transactions that began before this index was registered.'

/**
 * Runs until `signal` is aborted or `endWhen` returns true. `endWhen` is called each time that the
 * end of the outbox is reached and no job is due, even if further changes arrive. It is also called
 * before each pause on standby.
 *
 * While another indexer holds the lease, this one stands by. It takes over if the other one has not
 * renewed the lease for `leaseMs`.
 *
 * After any error it starts over with a new fencing token and new keys, so that the engine rejects
 * a late request of the failed run. With `endWhen`, it throws the error instead, unless the lease
 * was lost. It releases the lease when the run ends normally or is stopped. After an error it does
 * not release the lease, because a request may still be running. Other indexers wait until the
 * lease expires. An error that occurs during a stop is logged and not thrown.
 */
export async function runIndexer(
  options: IndexerOptions,
  signal: AbortSignal,
  endWhen?: () => Promise<boolean>,
): Promise<void> {
  const { db, registrationName, log, state } = options
  const popularityJob = createPopularityJob(db, {
    log,
    onResult: (succeeded) => state.recordJob('popularity', succeeded),
  })
  const unusedIndexRemoval = createUnusedIndexRemoval(db, registrationName, {
    ...options,
    signal,
    onResult: (succeeded) => state.recordJob('unused_indexes', succeeded),
  })
  try {
    await repeatRuns({
      ...options,
      signal,
      endWhen,
      backoff: new ErrorBackoff(log),
      rebuildBackoff: new RebuildBackoff(log),
      buildLog: new OnceLog(log),
      synonymLog: new OnceLog(log),
      popularityJob,
      unusedIndexRemoval,
    })
  } finally {
    // Afterwards the caller may close the database.
    await popularityJob.waitUntilIdle()
    await unusedIndexRemoval.waitUntilIdle()
  }
}

/** Acquires the lease and runs, and starts over after each error. */
async function repeatRuns(options: RunOptions): Promise<void> {
  const { db, registrationName, backoff, log, state, signal, endWhen } = options
  const holder = `${hostname()}, process ${process.pid}, ${randomBytes(4).toString('hex')}`
  let isStandingBy = false
  while (!signal.aborted) {
    try {
      const onWait = () => log(waitingForTransactions)
      await registerIndex(db, registrationName, { onWait, signal })
      const lease = await acquireLease(db, registrationName, holder)
      if (lease) {
        isStandingBy = false
        return await runUnderLease(options, lease)
      }
      if (await endWhen?.()) return
      if (!isStandingBy) {
        const consequence = endWhen ? 'Waiting until it has updated the index.' : 'Standing by.'
        log(`${await describeOtherIndexer(db, registrationName)} is running. ${consequence}`)
      }
      isStandingBy = true
      state.activity = 'standing by'
      state.failing = null
      await pause(standbyMs, signal)
    } catch (error) {
      // This is the stop request, not a failure.
      if (signal.aborted && error === signal.reason) return
      state.countError(findErrorKind(error))
      if (signal.aborted) return backoff.logLast(error)
      if (endWhen && !(error instanceof LeaseLost)) throw error
      await backoff.wait(error, signal)
    }
  }
}

async function describeOtherIndexer(
  db: IndexerOptions['db'],
  registrationName: string,
): Promise<string> {
  const holder = await readLeaseHolder(db, registrationName)
  return holder === null ? 'Another indexer' : `Another indexer (${holder})`
}

/** Prepares the engine, runs, and releases the lease if another indexer may start at once. */
async function runUnderLease(options: RunOptions, lease: AcquiredLease): Promise<void> {
  const { db, log, state, signal } = options
  const renewal = startLeaseRenewal(db, lease, log)
  let mayRelease = false
  state.holdsLease = true
  try {
    const target = await prepareEngine(options, lease)
    await new IndexerRun(options, target, renewal).run()
    mayRelease = true
  } catch (error) {
    // Release only if the stop request itself ended the run.
    mayRelease = signal.aborted && error === signal.reason
    throw error
  } finally {
    renewal.stop()
    state.holdsLease = false
    // A run that ends normally or is stopped has waited for its requests to the engine, so another
    // indexer may start at once. After an error, a request that timed out may still be running.
    if (mayRelease)
      await releaseLease(db, lease).catch((error: unknown) => {
        const seconds = leaseMs / 1_000
        const reason = toSentence(describeError(error))
        log(`The lease was not released and expires within ${seconds} s: ${reason}`, 'warn')
      })
  }
}

/** Replaces the run keys of the previous indexer and deletes the remains of its rebuild. */
async function prepareEngine(
  { db, openClient, indexerApiKey, indexName, registrationName, log, signal }: RunOptions,
  lease: AcquiredLease,
): Promise<LiveTarget> {
  const index = { db, keyClient: openClient(indexerApiKey), indexName, registrationName, lease }
  await requireSingleServer(index)
  for (const name of await ensurePermanentKeys(index.keyClient, 'MEILI_INDEXER_KEY'))
    log(`The key "${name}" of the search engine had other rights and was replaced.`, 'warn')
  await markUnnoticedFailover(db, lease, await readDatabasesOfRunKeys(index))
  const keys = await replaceRunKeys(index, lease)
  // Copies of one server had the same keys until the line above created new ones on one of them.
  await requireSingleServer(index)
  await executeUnderLease(db, lease, (transaction) =>
    markSeveralServers(transaction, registrationName, false),
  )
  // The previous indexer may still be writing. Requests with its keys that the engine has already
  // accepted end within this time. Do not shorten this pause on a stop: the stop releases the
  // lease, so the next indexer would start without pausing.
  if (!lease.wasReleased) await sleep(keyReplacementPause.ms)
  signal.throwIfAborted()
  const target: LiveTarget = {
    kind: 'live',
    db,
    indexName,
    registrationName,
    lease,
    client: openClient(keys.documents),
    taskClient: openClient(keys.tasks),
    outbox: new OutboxCursor(db, registrationName),
  }
  await deleteNextIndex(target)
  await deleteRebuildRows(target)
  return target
}
