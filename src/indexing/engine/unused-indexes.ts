// Removes the indexes of other releases that no program uses any more, after a rolling upgrade.
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog } from '../../monitoring/log/failure-log.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { haveSameEngineName } from '../../search-engine/shape-suffix.ts'
import { toSentence } from '../../text/to-sentence.ts'
import { timeouts } from '../../timeouts.ts'
import { nextOutboxName } from '../index-address.ts'
import { deleteRegistration } from '../registration.ts'
import { withTemporaryKey } from './engine-keys.ts'
import { deleteIndex } from './engine-tasks.ts'

type RemovalOptions = {
  openClient: (key: string) => Meilisearch
  indexerApiKey: string
  log: LogLine
}

/**
 * Removes every other index with the same SEARCH_ENGINE that no API has used for a minute and whose
 * lease no indexer holds, with its registration and outbox rows. If a program of that release
 * starts later, it builds the index again.
 */
export async function removeUnusedIndexes(
  db: Kysely<Tables>,
  registrationName: string,
  { openClient, indexerApiKey, log }: RemovalOptions,
): Promise<void> {
  for (const { name, indexName } of await listUnused(db)) {
    if (name === registrationName || !haveSameEngineName(name, registrationName)) continue
    if (indexName !== null)
      await withTemporaryKey(openClient(indexerApiKey), indexName, 'indexes.delete', (key) =>
        deleteIndex(openClient(key), indexName),
      )
    const isRemoved = await removeRegistration(db, name)
    const subject = indexName === null ? 'registration' : `index ${indexName}`
    if (isRemoved)
      log(`Removed the ${subject} of another release (${name}), which no program uses.`)
    else if (indexName !== null)
      log(`A program uses the removed ${subject} (${name}) again. Its indexer builds it anew.`)
  }
}

/** Returns the registered indexes that no API has used for a minute and that no indexer holds. */
async function listUnused(
  db: Kysely<Tables>,
): Promise<{ name: string; indexName: string | null }[]> {
  const seconds = timeouts.indexing.unusedAge.ms / 1_000
  const { rows } = await sql<{ name: string; indexName: string | null }>`
    select registration_name as name, index_name as "indexName"
    from search_indexes left join index_leases using (registration_name)
    where used_at < clock_timestamp() - make_interval(secs => ${seconds})
      and coalesce(held_until < clock_timestamp(), true)
  `.execute(db)
  return rows
}

/** Removes unused indexes, and logs an error instead of throwing it: nothing depends on this. */
export class UnusedIndexRemoval {
  readonly #db: Kysely<Tables>
  readonly #registrationName: string
  readonly #options: RemovalOptions
  readonly #onResult: (succeeded: boolean) => void
  readonly #failures: FailureLog

  constructor(
    db: Kysely<Tables>,
    registrationName: string,
    options: RemovalOptions,
    onResult: (succeeded: boolean) => void,
  ) {
    this.#db = db
    this.#registrationName = registrationName
    this.#options = options
    this.#onResult = onResult
    const { log } = options
    this.#failures = new FailureLog(
      { error: (line) => log(line, 'warn'), info: log },
      {
        failure: (cause) => `${toSentence(cause)} The indexes of other releases stay.`,
        recovery: 'Unused indexes are removed again.',
      },
    )
  }

  /** Removes what is unused now. Never throws. */
  async run(): Promise<void> {
    try {
      await removeUnusedIndexes(this.#db, this.#registrationName, this.#options)
      this.#failures.logSuccess()
      this.#onResult(true)
    } catch (error) {
      this.#failures.logFailure(error)
      this.#onResult(false)
    }
  }
}

/**
 * Deletes a registration with its outbox rows and parked documents, and returns true. Returns false
 * if a program has begun to use it meanwhile: then it stays.
 */
async function removeRegistration(db: Kysely<Tables>, name: string): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    // While these are locked, no program can begin to use the index. Indexers lock in this order.
    for (const table of ['index_leases', 'search_indexes'])
      await sql`
        select from ${sql.table(table)} where registration_name = ${name} for update
      `.execute(transaction)
    const unused = await listUnused(transaction)
    if (!unused.some((index) => index.name === name)) return false
    await deleteRegistration(transaction, name)
    for (const table of ['index_outbox', 'index_parked_documents'])
      await sql`
        delete from ${sql.table(table)}
        where registration_name in (${name}, ${nextOutboxName(name)})
      `.execute(transaction)
    return true
  })
}
