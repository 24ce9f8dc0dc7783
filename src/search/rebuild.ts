// Builds the index afresh beside the live one and swaps them, so that search never pauses.
import { isDeepStrictEqual } from 'node:util'
import { type Kysely, sql } from 'kysely'
import { type Meilisearch, MeilisearchApiError } from 'meilisearch'
import type { Tables } from '../database/tables.ts'
import { indexSettings, readDocumentsAfter } from './product-index.ts'

const pageSize = 5_000
const taskWait = { timeout: 600_000, interval: 20 }

/**
 * Fills a new index from the catalogue, swaps it in and records up to which instant it is complete. Changes made meanwhile stay pending and are
 * put in afterwards. Throws with the live index as it was when the engine refuses anything.
 */
export async function rebuild(
  db: Kysely<Tables>,
  engine: Meilisearch,
  { indexName, engineName, onProgress }: { indexName: string; engineName: string; onProgress?: (documents: number) => void },
): Promise<number> {
  const nextName = `${indexName}_next`
  const { startedAt } = await db.selectNoFrom(sql<Date>`clock_timestamp()`.as('startedAt')).executeTakeFirstOrThrow()
  await engine.deleteIndexIfExists(nextName)
  await succeeded(engine.createIndex(nextName, { primaryKey: 'id' }).waitTask(taskWait))
  await succeeded(engine.index(nextName).updateSettings(indexSettings).waitTask(taskWait))

  let count = 0
  let upload: Promise<unknown> = Promise.resolve()
  for (let after = '0'; ; ) {
    const documents = await readDocumentsAfter(db, after, pageSize)
    await upload
    const last = documents.at(-1)
    if (!last) break
    after = last.id
    count += documents.length
    upload = succeeded(engine.index(nextName).addDocuments(documents).waitTask(taskWait))
    upload.catch(() => undefined)
    onProgress?.(count)
  }

  if (await exists(engine, indexName)) {
    await succeeded(engine.swapIndexes([{ indexes: [nextName, indexName], rename: false }]).waitTask(taskWait))
    await succeeded(engine.deleteIndex(nextName).waitTask(taskWait))
  } else {
    await succeeded(engine.swapIndexes([{ indexes: [nextName, indexName], rename: true }]).waitTask(taskWait))
  }
  await db.updateTable('search_engines').set({ indexed_at: startedAt, version: sql`version + 1` }).where('name', '=', engineName).execute()
  return count
}

/** Whether the live index is absent or has other settings than this code expects. */
export async function needsRebuild(engine: Meilisearch, indexName: string): Promise<boolean> {
  if (!(await exists(engine, indexName))) return true
  const settings: Record<string, unknown> = { ...(await engine.index(indexName).getSettings()) }
  return Object.entries(indexSettings).some(([name, expected]) => !isDeepStrictEqual(settings[name], expected))
}

async function exists(engine: Meilisearch, indexName: string): Promise<boolean> {
  try {
    await engine.getRawIndex(indexName)
    return true
  } catch (error) {
    if (error instanceof MeilisearchApiError && error.response.status === 404) return false
    throw error
  }
}

/** A task that was accepted may still fail; this throws its reason. */
export async function succeeded(task: Promise<{ status: string; error: { message: string } | null }>): Promise<void> {
  const { status, error } = await task
  if (status !== 'succeeded') throw new Error(`Meilisearch: task ${status}: ${error?.message ?? 'no reason given'}`)
}
