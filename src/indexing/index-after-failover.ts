// Keeps the index after a failover of PostgreSQL. The new primary may lack commits that the index
// contains, so the index is compared with the catalogue and repaired, not built anew.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { applyBatch } from './change-sync.ts'
import {
  documentWriteTypes,
  indexExists,
  lookUpTask,
  queueReminder,
  readEngineTask,
  readNewestTaskNumber,
  taskPollMs,
  unfinishedStatuses,
} from './engine/engine-tasks.ts'
import type { LiveTarget } from './index-address.ts'
import { listDriftIds, queueRepair, verifyIndex } from './index-verification.ts'
import { executeUnderLease, type Lease } from './lease/indexer-lease.ts'
import {
  forceFailoverCheck,
  markCompared,
  readRegistration,
  storeLastTask,
} from './registration.ts'

/**
 * If more documents differ than this share of the catalogue, as after a restore from last week,
 * building the index costs less. In a small catalogue, up to `smallestRepairLimit` may differ.
 */
const maxRepairedShare = 0.1
const smallestRepairLimit = 1_000

type ComparisonOptions = {
  log: LogLine
  /** Called often. Throws to stop the comparison. */
  throwIfStopped: () => void
}

/**
 * After a failover of PostgreSQL, corrects the index and marks that it belongs to the new
 * primary. If the engine was restored too, or if too many documents differ, leaves the index as it
 * is, so that it is rebuilt. Does nothing if there was no failover. Applies changes between the
 * comparisons; no other process may apply changes meanwhile.
 */
export async function keepIndexAfterFailover(
  target: LiveTarget,
  options: ComparisonOptions,
): Promise<void> {
  const { db, client, taskClient, indexName, registrationName } = target
  const registration = await readRegistration(db, registrationName)
  if (!registration?.hasFailedOver) return
  const { lastTask, mayHaveUnrecordedWrites, indexedAt } = registration
  const logNotCompared = (why: string) =>
    options.log(`PostgreSQL has failed over. The index is not compared, because ${why}.`)
  if (indexedAt === null) return logNotCompared('it is not known what it contains')
  if (!(await indexExists(client, indexName))) return logNotCompared('it does not exist')
  const lookup = lastTask && (await lookUpTask(taskClient, lastTask))
  if (lookup === 'never_enqueued')
    return logNotCompared('the search engine was restored to an older state')
  // Requests from before the failover may still be in the queue.
  await waitUntilQueueIsEmpty(target, options)
  const newestWrite = await readNewestTaskNumber(taskClient, indexName, documentWriteTypes)
  const canCompareTasks = lastTask !== null && lookup !== 'deleted'
  // No document was written after the newest task that this database knows.
  if (canCompareTasks && !mayHaveUnrecordedWrites && (newestWrite ?? 0) <= lastTask.taskNumber)
    options.log('PostgreSQL has failed over and has lost no change that the index contains.')
  else if (!(await repair(target, options))) return
  await finishComparison(target)
}

/**
 * Notices that a replaced primary has become primary again. For example, server A is replaced by B,
 * whose indexer writes to the index, and then A returns with its old data. The registration of A
 * names A, so nothing shows that B has written. But the run keys in the engine name B. If B is this
 * database on another timeline, stores B in the registration, so that keepIndexAfterFailover
 * compares.
 */
export async function markUnnoticedFailover(
  db: Kysely<Tables>,
  lease: Lease,
  databasesOfPreviousKeys: string[],
): Promise<void> {
  await executeUnderLease(db, lease, async (transaction) => {
    for (const identity of databasesOfPreviousKeys)
      await forceFailoverCheck(transaction, lease.registrationName, identity)
  })
}

/** Returns whether the index matches the catalogue now. False if too many documents differ. */
async function repair(
  target: LiveTarget,
  { log, throwIfStopped }: ComparisonOptions,
): Promise<boolean> {
  log('PostgreSQL has failed over. Comparing the index with the catalogue.')
  const applyPendingChanges = async (limit: number) => {
    throwIfStopped()
    return (await applyBatch(target, { log, limit })).changeCount
  }
  const drift = await verifyIndex(target, { applyPendingChanges, throwIfStopped })
  const count = listDriftIds(drift).length
  if (count > Math.max(smallestRepairLimit, maxRepairedShare * drift.products)) {
    const catalogue = `the catalogue of ${countNoun(drift.products, 'product')}`
    log(`${countNoun(count, 'document')} differ from ${catalogue}, which is too many to repair.`)
    return false
  }
  await queueRepair(target, drift)
  // Up to the end of the outbox, and not until it is empty: changes may arrive all the time.
  for (;;) {
    const { changeCount, hasReachedEnd } = await applyBatch(target, { log })
    if (changeCount === 0 || hasReachedEnd) break
    throwIfStopped()
  }
  log(
    count === 0
      ? 'No document differs.'
      : `${countNoun(count, 'document')} differed and ${count === 1 ? 'was' : 'were'} corrected.`,
  )
  return true
}

/** Logs for how many tasks it waits, at first and at intervals of `queueReminder`. */
async function waitUntilQueueIsEmpty(
  { taskClient, indexName }: LiveTarget,
  { log, throwIfStopped }: ComparisonOptions,
): Promise<void> {
  let loggedAtMs = Number.NEGATIVE_INFINITY
  for (;;) {
    const { total } = await taskClient.tasks.getTasks({
      indexUids: [indexName],
      statuses: unfinishedStatuses,
      limit: 1,
    })
    if (total === 0) return
    throwIfStopped()
    if (performance.now() - loggedAtMs >= queueReminder.ms) {
      loggedAtMs = performance.now()
      log(
        `PostgreSQL has failed over. Waiting for ${countNoun(total, 'task')} of the search engine.`,
      )
    }
    await sleep(taskPollMs)
  }
}

async function finishComparison(target: LiveTarget): Promise<void> {
  const { db, taskClient, lease, indexName, registrationName } = target
  // The commit that stored the newest task may be among the lost ones.
  const taskNumber = await readNewestTaskNumber(taskClient, indexName, documentWriteTypes)
  const task = taskNumber === null ? null : await readEngineTask(taskClient, taskNumber)
  await executeUnderLease(db, lease, async (transaction) => {
    await markCompared(transaction, registrationName)
    if (task) await storeLastTask(transaction, registrationName, task)
  })
}
