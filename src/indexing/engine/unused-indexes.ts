// Removes the indexes of other releases that no program uses any more, after a rolling upgrade.
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog } from '../../monitoring/log/failure-log.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { haveSameEngine } from '../../search-engine/shape-suffix.ts'
import { toSentence } from '../../text/to-sentence.ts'
import { timeouts } from '../../timeouts.ts'
import { nextRegistrationName } from '../index-address.ts'
import { deleteRecord } from '../index-record.ts'
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
  const seconds = timeouts.indexing.unusedAge.ms / 1_000
  const { rows } = await sql<{ name: string; indexName: string | null }>`
    select i.registration_name as name, i.index_name as "indexName"
    from search_indexes i left join index_leases l using (registration_name)
    where i.registration_name <> ${registrationName}
      and i.used_at < now() - make_interval(secs => ${seconds})
      and coalesce(l.held_until < clock_timestamp(), true)
  `.execute(db)
  for (const { name, indexName } of rows) {
    if (!haveSameEngine(name, registrationName)) continue
    if (indexName !== null)
      await withTemporaryKey(openClient(indexerApiKey), indexName, 'indexes.delete', (key) =>
        deleteIndex(openClient(key), indexName),
      )
    await removeRegistration(db, name)
    const subject = indexName === null ? 'registration' : `index ${indexName}`
    log(`Removed the ${subject} of another release (${name}), which no program uses.`)
  }
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

async function removeRegistration(db: Kysely<Tables>, name: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await deleteRecord(transaction, name)
    for (const table of ['index_outbox', 'index_parked_documents'])
      await sql`
        delete from ${sql.table(table)}
        where registration_name in (${name}, ${nextRegistrationName(name)})
      `.execute(transaction)
  })
}
