// Keeps the synonyms of the engine equal to those in the tables of the company. That needs no
// rebuild: the engine applies synonyms within milliseconds and does not index its documents again.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { EnqueuedTask } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { toSentence } from '../text/to-sentence.ts'
import { builtInWords, readSearchWords } from '../words/search-words.ts'
import {
  describeErrorWithAdvice,
  isRequestRejected,
  onOwnConnection,
  TaskFailed,
  waitForSuccess,
} from './engine.ts'
import { executeUnderLease } from './lease.ts'
import type { IndexAddress, IndexTarget } from './registration.ts'

type EngineSynonyms = Record<string, string[]>

/** Part of the version of the synonyms, because releases may have different built-in synonyms. */
const builtInHash = createHash('sha256')
  .update(JSON.stringify([...builtInWords.synonyms]))
  .digest('hex')
  .slice(0, 8)

/**
 * Returns the synonyms as a setting of the engine, and their version: that of the company's words
 * and a hash of the built-in ones, as in the column `synonyms_version` of search_indexes.
 */
export async function readEngineSynonyms(
  db: Kysely<Tables>,
): Promise<{ synonymsVersion: string; synonyms: EngineSynonyms }> {
  const { version, synonyms } = await readSearchWords(db)
  return {
    synonymsVersion: `${version} ${builtInHash}`,
    synonyms: Object.fromEntries([...synonyms].map(([word, others]) => [word, [...others]])),
  }
}

/** Whether the tables have another version of the synonyms than the one that was sent last. */
export async function haveSynonymsChanged({
  db,
  registrationName,
}: IndexAddress): Promise<boolean> {
  const { rows } = await sql<{ hasChanged: boolean }>`
    select synonyms_version is distinct from w.version || ${` ${builtInHash}`} as "hasChanged"
    from search_indexes, search_words_version w where registration_name = ${registrationName}
  `.execute(db)
  // Without a registration there is no row. Then the lease is lost too, which the next batch finds.
  return rows[0]?.hasChanged ?? false
}

/**
 * Sends synonyms to an index. Returns whether the engine has accepted them. If it rejects them
 * because of their contents or their size, that is logged, and the index keeps its synonyms.
 */
export async function sendSynonyms(
  { client, indexName }: IndexTarget,
  synonyms: EngineSynonyms,
  log: LogLine,
): Promise<boolean> {
  const index = client.index(indexName)
  // An engine that has lost its data would create an index with these synonyms and no documents.
  await index.getRawInfo()
  const update = index.httpRequest.put<EnqueuedTask>({
    path: `indexes/${indexName}/settings/synonyms`,
    body: synonyms,
    extraRequestInit: onOwnConnection,
  })
  try {
    await waitForSuccess(client, update)
    return true
  } catch (error) {
    if (!areRejected(error)) throw error
    const reason = toSentence(describeErrorWithAdvice(error))
    log(`The search engine rejects the synonyms: ${reason}`, 'warn')
    return false
  }
}

/**
 * Sets the synonyms of the engine, and gives the contents of the index a new version, because
 * cached answers are no longer valid. Returns whether the engine has accepted them. If not, that is
 * logged, and `haveSynonymsChanged` is false until they change. Throws LeaseLost.
 */
export async function applySynonyms(target: IndexTarget, log: LogLine): Promise<boolean> {
  const { db, lease, registrationName } = target
  const { synonymsVersion, synonyms } = await readEngineSynonyms(db)
  const isAccepted = await sendSynonyms(target, synonyms, log)
  // If the engine has rejected the same ones again, nothing has changed.
  await executeUnderLease(db, lease, (transaction) =>
    sql`
      update search_indexes set synonyms_version = ${synonymsVersion}, version = version + 1
      where registration_name = ${registrationName}
        and (${isAccepted} or synonyms_version is distinct from ${synonymsVersion})
    `.execute(transaction),
  )
  return isAccepted
}

/**
 * The engine rejects synonyms at once, or when it runs the task. An internal error counts, too: the
 * indexer sends rejected synonyms again every minute, in case the engine failed for a moment.
 */
const areRejected = (error: unknown) =>
  isRequestRejected(error) ||
  (error instanceof TaskFailed && (error.code === 'internal' || error.code.startsWith('invalid_')))
