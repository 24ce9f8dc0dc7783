// Removes the indexes of other releases that no program uses any more, after a rolling upgrade.
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../../database/table-types.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { haveSameEngineName } from '../../search-engine/shape-suffix.ts'
import { toSentence } from '../../text/to-sentence.ts'
import { timeouts } from '../../timeouts.ts'
import { nextIndexName, nextOutboxName } from '../index-address.ts'
import { deleteRegistration } from '../registration.ts'
import { createSideTask, type SideTaskOptions } from '../scheduling/side-task.ts'
import { deleteIndex } from './engine-tasks.ts'
import { listKeysOfRegistration } from './indexer-keys.ts'
import { withTemporaryKey } from './temporary-key.ts'

type RemovalOptions = {
  openClient: (key: string) => Meilisearch
  indexerApiKey: string
  log: LogLine
}

/** `indexName` is null if the first build never ended. */
type UnusedIndex = { name: string; indexName: string | null }

/**
 * Removes every other index with the same SEARCH_ENGINE that no API has used for a minute and whose
 * lease no indexer holds, with all that belongs to it. If a program of that release starts later,
 * it builds the index again. An index that cannot be removed does not keep others; its error is
 * thrown at the end. Throws an AggregateError of several errors.
 */
export async function removeUnusedIndexes(
  db: Kysely<Tables>,
  registrationName: string,
  options: RemovalOptions,
): Promise<void> {
  const errors: unknown[] = []
  for (const { name } of await listUnused(db)) {
    if (name === registrationName || !haveSameEngineName(name, registrationName)) continue
    try {
      await removeRegistration(db, name, options)
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 1) throw new AggregateError(errors)
  if (errors.length === 1) throw errors[0]
}

/** Returns the registered indexes that no API has used for a minute and that no indexer holds. */
async function listUnused(db: Kysely<Tables>): Promise<UnusedIndex[]> {
  const seconds = timeouts.indexing.unusedAge.ms / 1_000
  const { rows } = await sql<UnusedIndex>`
    select registration_name as name, index_name as "indexName"
    from search_indexes left join index_leases using (registration_name)
    where used_at < clock_timestamp() - make_interval(secs => ${seconds})
      and coalesce(held_until < clock_timestamp(), true)
  `.execute(db)
  return rows
}

/** Returns a function that removes what is unused then. It never rejects. */
export function createUnusedIndexRemoval(
  db: Kysely<Tables>,
  registrationName: string,
  options: RemovalOptions & SideTaskOptions,
): () => Promise<void> {
  return createSideTask(() => removeUnusedIndexes(db, registrationName, options), options, {
    failure: (cause) => `${toSentence(cause)} The indexes of other releases stay.`,
    recovery: 'Unused indexes are removed again.',
  })
}

/**
 * Deletes a registration with its outbox rows and parked documents, and then its indexes and keys
 * in the engine. If that fails, the transaction is rolled back, and a later attempt finds the
 * registration. Does nothing if a program has begun to use it meanwhile.
 */
async function removeRegistration(
  db: Kysely<Tables>,
  name: string,
  options: RemovalOptions,
): Promise<void> {
  const removed = await db.transaction().execute(async (transaction) => {
    // While these are locked, no program can begin to use the index. Indexers lock in this order.
    for (const table of ['index_leases', 'search_indexes'])
      await sql`
        select from ${sql.table(table)} where registration_name = ${name} for update
      `.execute(transaction)
    const unused = (await listUnused(transaction)).find((index) => index.name === name)
    if (!unused) return null
    await deleteRegistration(transaction, name)
    const indexNames = await removeFromEngine(unused, options)
    // Last, because until this transaction ends, each changed product adds a row for this index.
    for (const table of ['index_outbox', 'index_parked_documents'])
      await sql`
        delete from ${sql.table(table)}
        where registration_name in (${name}, ${nextOutboxName(name)})
      `.execute(transaction)
    return indexNames
  })
  if (removed === null) return
  const subject = removed.length === 0 ? 'registration' : `index ${removed.join(' and ')}`
  options.log(`Removed the ${subject} of another release (${name}), which no program uses.`)
}

/**
 * Deletes the index of a registration, the next index of an unfinished rebuild, and the API keys of
 * its indexers. Returns the names of the indexes, which the keys also tell if a first build never
 * ended.
 */
async function removeFromEngine(
  { name, indexName }: UnusedIndex,
  { openClient, indexerApiKey }: RemovalOptions,
): Promise<string[]> {
  const client = openClient(indexerApiKey)
  const keys = await listKeysOfRegistration(client, name)
  const liveNames = new Set(keys.map((key) => key.indexName))
  if (indexName !== null) liveNames.add(indexName)
  for (const liveName of liveNames) {
    const names = [liveName, nextIndexName(liveName)]
    await withTemporaryKey(client, names, 'indexes.delete', async (key) => {
      for (const each of names) await deleteIndex(openClient(key), each)
    })
  }
  // Last, because they tell the names of the indexes.
  for (const { uid } of keys) await client.deleteKey(uid)
  return [...liveNames]
}
