// Keeps the index after a failover of PostgreSQL. The new primary may lack commits that the index
// contains, so the index is compared with the catalogue and repaired, not built anew.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import { differsOnlyInTimeline } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { countNoun } from '../text/count-noun.ts'
import { timeouts } from '../timeouts.ts'
import { syncBatch } from './change-sync.ts'
import {
  documentWriteTypes,
  hasEngineTask,
  indexExists,
  readEngineTask,
  readNewestTaskNumber,
} from './engine/engine-tasks.ts'
import { readIndexRecord } from './index-record.ts'
import {
  listDriftIds,
  maxRemovedDocuments,
  queueRepair,
  verifyIndex,
} from './index-verification.ts'
import { executeUnderLease, type Lease } from './indexer-lease.ts'
import type { LeasedTarget } from './leased-target.ts'

/** If more documents differ, as after a restore from last week, building the index costs less. */
const maxRepairedShare = 0.1
const minRepairedCount = 1_000
/** At most this many changes are applied after each page, before the next page is compared. */
const changesBetweenPages = maxRemovedDocuments / 2

type ComparisonOptions = {
  /** A client that may read every task. */
  rebuildClient: Meilisearch
  log: (line: string) => void
  /** Called often. Throws to stop the comparison. */
  throwIfStopped: () => void
}

/**
 * After a failover of PostgreSQL, corrects the index and records that it belongs to the new
 * primary. If the engine was restored too, or if too many documents differ, leaves the index as it
 * is, so that it is rebuilt. Does nothing if there was no failover. Applies changes between the
 * comparisons; no other process may apply changes meanwhile.
 */
export async function keepIndexAfterFailover(
  target: LeasedTarget,
  options: ComparisonOptions,
): Promise<void> {
  const { db, client, indexName, registrationName } = target
  const record = await readIndexRecord(db, registrationName)
  if (!record?.hasFailedOver || record.indexedAt === null) return
  if (!(await indexExists(client, indexName))) return
  const { rebuildClient, log } = options
  const { lastTask, isWriting } = record
  if (lastTask && !(await hasEngineTask(rebuildClient, lastTask))) return
  // Requests from before the failover may still be in the queue.
  await untilQueueIsEmpty(target, options)
  const newestWrite = await readNewestTaskNumber(rebuildClient, indexName, documentWriteTypes)
  if (lastTask && !isWriting && (newestWrite ?? 0) <= lastTask.number)
    log('PostgreSQL has failed over and has lost no change that the index contains.')
  else if (!(await repair(target, options))) return
  await recordIdentity(target, rebuildClient)
}

/**
 * Records the database that last wrote to the index, if it is this database on a different
 * timeline: a server that was replaced is the primary again, or was never stopped.
 * `databaseIdentities` comes from the keys of the index, and must be read before those keys are
 * replaced.
 */
export async function recordOtherTimeline(
  registration: { db: Kysely<Tables>; lease: Lease },
  databaseIdentities: string[],
): Promise<void> {
  await executeUnderLease(registration, async (transaction) => {
    for (const identity of databaseIdentities)
      await sql`
        update search_engines set database_identity = ${identity}
        where name = ${registration.lease.registrationName}
          and database_identity = database_identity()
          and ${differsOnlyInTimeline(sql`${identity}`)}
      `.execute(transaction)
  })
}

/** Returns whether the index matches the catalogue now. False if too many documents differ. */
async function repair(
  target: LeasedTarget,
  { log, throwIfStopped }: ComparisonOptions,
): Promise<boolean> {
  const { db, client, indexName, registrationName } = target
  log('PostgreSQL has failed over. Comparing the index with the catalogue.')
  const changeIndex = () => {
    throwIfStopped()
    return syncBatch(target, { limit: changesBetweenPages })
  }
  const drift = await verifyIndex({
    db,
    client,
    indexName,
    registrationName,
    changeIndex,
    throwIfStopped,
  })
  const count = listDriftIds(drift).length
  if (count > Math.max(minRepairedCount, maxRepairedShare * drift.products)) return false
  await queueRepair(db, client, { indexName, registrationName }, drift)
  while ((await syncBatch(target)) > 0) throwIfStopped()
  log(`${countNoun(count, 'document')} differed and ${count === 1 ? 'was' : 'were'} corrected.`)
  return true
}

async function untilQueueIsEmpty(
  { indexName }: LeasedTarget,
  { rebuildClient, throwIfStopped }: ComparisonOptions,
): Promise<void> {
  for (;;) {
    const { results } = await rebuildClient.tasks.getTasks({
      indexUids: [indexName],
      statuses: ['enqueued', 'processing'],
      limit: 1,
    })
    if (results.length === 0) return
    throwIfStopped()
    await sleep(timeouts.indexing.taskPoll.ms)
  }
}

/** Also records the newest task: the record of it may be among the lost commits. */
async function recordIdentity(target: LeasedTarget, rebuildClient: Meilisearch): Promise<void> {
  const number = await readNewestTaskNumber(rebuildClient, target.indexName, documentWriteTypes)
  const task = number === null ? null : await readEngineTask(rebuildClient, number)
  await executeUnderLease(target, async (transaction) => {
    await sql`
      update search_engines
      set database_identity = database_identity(), version = version + 1
      where name = ${target.registrationName}
    `.execute(transaction)
    if (task === null) return
    await sql`
      update search_engines set last_task = ${task.number}, last_task_at = ${task.acceptedAt}
      where name = ${target.registrationName} and coalesce(last_task < ${task.number}, true)
    `.execute(transaction)
  })
}
