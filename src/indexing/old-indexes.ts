// Removes the indexes of older releases after an upgrade.
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { nameWithoutVersion, nameWithVersion, readVersion } from '../search-engine/index-name.ts'
import { deleteIndex } from './engine.ts'
import { nextIndexName } from './registration.ts'

// Longer than an upgrade takes, and than the indexer of the older release may be away.
const isUnused = sql`held_until < clock_timestamp() - interval '10 minutes'`

type RemovalOptions = {
  db: Kysely<Tables>
  client: Meilisearch
  indexName: string
  registrationName: string
  log: LogLine
  /** Ends the removal before its next deletion. A later one continues it. */
  signal: AbortSignal
}

/**
 * Removes the indexes of older releases with the same SEARCH_ENGINE whose lease was free for ten
 * minutes, with all that belongs to them. A program of such a release that still runs gets its
 * answers from PostgreSQL, and an indexer of that release builds the index again. If an index
 * cannot be removed, the others are removed all the same, and an AggregateError is thrown.
 */
export async function removeOldIndexes(options: RemovalOptions): Promise<void> {
  const { db, registrationName, signal } = options
  const { rows } = await sql<{ name: string }>`
    select registration_name as name from index_leases where ${isUnused}
  `.execute(db)
  const errors: unknown[] = []
  for (const { name } of rows) {
    const isSameEngine = nameWithoutVersion(name) === nameWithoutVersion(registrationName)
    if (!isSameEngine || readVersion(name) >= readVersion(registrationName)) continue
    await removeIndex(name, options).catch((error: unknown) => errors.push(error))
    if (signal.aborted) return
  }
  if (errors.length > 0) throw new AggregateError(errors)
}

/**
 * Deletes the index of a registration and the next one of an unfinished rebuild in the engine, and
 * then the registration with its outbox rows and parked documents. If the engine fails, or an
 * indexer of that release has started meanwhile, the registration stays. No transaction is open
 * while the engine works, because that may take minutes.
 */
async function removeIndex(
  name: string,
  { db, client, indexName, log, signal }: RemovalOptions,
): Promise<void> {
  const oldName = nameWithVersion(nameWithoutVersion(indexName), readVersion(name))
  for (const each of [nextIndexName(oldName), oldName]) {
    signal.throwIfAborted()
    await deleteIndex(client, each)
  }
  await db.transaction().execute(async (transaction) => {
    const { rows } = await sql`
      delete from search_indexes where registration_name = (
        select registration_name from index_leases
        where registration_name = ${name} and ${isUnused} for update
      ) returning registration_name
    `.execute(transaction)
    if (rows.length === 0) return
    // Last, because until this transaction ends, each changed product adds a row for this index.
    for (const table of ['index_outbox', 'index_parked_documents'] as const)
      await transaction.deleteFrom(table).where('registration_name', '=', name).execute()
    log(`Removed the index ${oldName} of an older release.`)
  })
}
