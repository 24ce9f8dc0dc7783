// Removes the indexes of other releases that no program uses any more, after a rolling upgrade.
import { hostname } from 'node:os'
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../../database/table-types.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { haveSameEngineName } from '../../search-engine/shape-suffix.ts'
import { toSentence } from '../../text/to-sentence.ts'
import { withDeletionKey } from '../engine/deletion-key.ts'
import { deleteIndex } from '../engine/engine-tasks.ts'
import { deleteKeyIfExists } from '../engine/permanent-keys.ts'
import { listRunKeys } from '../engine/run-keys.ts'
import { nextIndexName, nextOutboxName } from '../index-address.ts'
import {
  acquireLease,
  executeUnderLease,
  type LeasedTransaction,
  type LeaseRenewal,
  releaseLease,
  startLeaseRenewal,
} from '../lease/indexer-lease.ts'
import { deleteRegistration } from '../registration.ts'
import { BackgroundJob, type BackgroundJobOptions } from '../scheduling/background-job.ts'

// API processes record their use every 10 s. Restarts take less than a minute.
const unusedAgeMs = 60_000

type RemovalOptions = {
  openClient: (key: string) => Meilisearch
  indexerApiKey: string
  log: LogLine
  /** Ends the removal before its next deletion. A later one continues it. */
  signal: AbortSignal
}

/** `indexName` is null if the first build never ended. */
type UnusedIndex = { name: string; indexName: string | null }

/**
 * Removes every other index with the same SEARCH_ENGINE that is unused and whose lease no indexer
 * holds, with all that belongs to it. If a program of that release starts later, it builds the
 * index again. If an index cannot be removed, the others are removed all the same, and then its
 * error is thrown. Throws an AggregateError of several errors.
 */
export async function removeUnusedIndexes(
  db: Kysely<Tables>,
  registrationName: string,
  options: RemovalOptions,
): Promise<void> {
  const errors: unknown[] = []
  for (const name of await listUnused(db)) {
    if (name === registrationName || !haveSameEngineName(name, registrationName)) continue
    if (options.signal.aborted) break
    try {
      await removeUnusedIndex(db, name, options)
    } catch (error) {
      if (error !== options.signal.reason) errors.push(error)
    }
  }
  if (errors.length > 1) throw new AggregateError(errors)
  if (errors.length === 1) throw errors[0]
}

/** An SQL condition: no API has used this index for `unusedAgeMs`. */
const isUnused = () => sql<boolean>`
  used_at < clock_timestamp() - make_interval(secs => ${unusedAgeMs / 1_000})
`

/** Returns the names of the registered indexes that are unused. */
async function listUnused(db: Kysely<Tables>): Promise<string[]> {
  const rows = await db
    .selectFrom('search_indexes')
    .select('registration_name as name')
    .where(isUnused())
    .execute()
  return rows.map(({ name }) => name)
}

/** Returns a job that removes what is unused when it starts. */
export function createUnusedIndexRemoval(
  db: Kysely<Tables>,
  registrationName: string,
  options: RemovalOptions & BackgroundJobOptions,
): BackgroundJob {
  return new BackgroundJob(() => removeUnusedIndexes(db, registrationName, options), options, {
    failure: (cause) =>
      `Removing unused indexes failed: ${toSentence(cause)} The indexes of other releases stay.`,
    recovery: 'Unused indexes are removed again.',
  })
}

/**
 * Deletes the indexes and keys of a registration in the engine, and then the registration with its
 * outbox rows and parked documents. If the engine fails, the registration stays, and a later
 * attempt finds it. Does nothing if a program uses the index.
 *
 * The lease keeps indexers of that release from working on the index meanwhile. An API that begins
 * to use it then gets its answers from PostgreSQL. No transaction is open while the engine works,
 * because that may take minutes.
 */
async function removeUnusedIndex(
  db: Kysely<Tables>,
  name: string,
  options: RemovalOptions,
): Promise<void> {
  const holder = `${hostname()}, process ${process.pid}, which is removing this unused index`
  const lease = await acquireLease(db, name, holder)
  if (lease === null) return
  const renewal = startLeaseRenewal(db, lease, options.log)
  try {
    const unused = await executeUnderLease(db, lease, (transaction) =>
      readUnused(transaction, name),
    )
    if (unused === undefined) return
    const indexNames = await removeFromEngine(unused, options, renewal)
    await executeUnderLease(db, lease, async (transaction) => {
      await deleteRegistration(transaction, name)
      // Last, because until this transaction ends, each changed product adds a row for this index.
      for (const table of ['index_outbox', 'index_parked_documents'])
        await sql`
          delete from ${sql.table(table)}
          where registration_name in (${name}, ${nextOutboxName(name)})
        `.execute(transaction)
    })
    const subject = indexNames.length === 0 ? 'registration' : `index ${indexNames.join(' and ')}`
    options.log(`Removed the ${subject} of another release (${name}), which no program uses.`)
  } finally {
    renewal.stop()
    // Also after an error. The engine may run a deletion later, when a program uses the index. That
    // program's indexer notices within seconds that the index is missing, and builds it.
    // If the release fails, no log is needed: the lease expires within seconds.
    await releaseLease(db, lease).catch(() => undefined)
  }
}

/** Waits for an API that is beginning to use the index. Returns undefined if one uses it. */
async function readUnused(
  transaction: LeasedTransaction,
  name: string,
): Promise<UnusedIndex | undefined> {
  return transaction
    .selectFrom('search_indexes')
    .select(['registration_name as name', 'index_name as indexName'])
    .where('registration_name', '=', name)
    .where(isUnused())
    .forUpdate()
    .executeTakeFirst()
}

/**
 * Deletes the index of a registration, the next index of an unfinished rebuild, and the API keys of
 * its indexers. Returns the names of the indexes. If the first build never ended, the registration
 * has no name, and the names of the keys contain it. Throws LeaseLost and the reason of `signal`.
 */
async function removeFromEngine(
  { name, indexName }: UnusedIndex,
  { openClient, indexerApiKey, signal }: RemovalOptions,
  renewal: LeaseRenewal,
): Promise<string[]> {
  const client = openClient(indexerApiKey)
  const keys = await listRunKeys(client, name)
  const liveNames = new Set(keys.map((key) => key.indexName))
  if (indexName !== null) liveNames.add(indexName)
  for (const liveName of liveNames) {
    const names = [liveName, nextIndexName(liveName)]
    await withDeletionKey(client, names, 'indexes.delete', async (key) => {
      for (const each of names) {
        renewal.throwIfLost()
        signal.throwIfAborted()
        await deleteIndex(openClient(key), each)
      }
    })
  }
  // Last, because they tell the names of the indexes.
  for (const { uid } of keys) await deleteKeyIfExists(client, uid)
  return [...liveNames]
}
