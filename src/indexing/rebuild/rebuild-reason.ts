// Whether an index is what this code expects: its settings, the shape of its documents, and its contents.
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Kysely, sql } from 'kysely'
import { type Meilisearch, MeilisearchApiError } from 'meilisearch'
import type { Tables } from '../../database/table-types.ts'
import type { SyncTarget } from '../change-sync.ts'
import { newestTask } from '../document-upload.ts'
import { indexSettings } from '../index-settings.ts'
import { toDocument } from '../read-documents.ts'

/** Products that show how documents are made: a change of the making that they do not show needs another of them. */
const example: Parameters<typeof toDocument>[0] = {
  id: '1',
  sku: 'AB-742.x/9 Ñ',
  name: 'Tornillos (M6) de 2 x 4,5 x 8 cm, 18 V · ¾" ñandú 10 uds.',
  description: 'Acero 304, 1.200 mm',
  category: 'Tornillería',
  brand: 'Ácana',
  unit: 'C62',
  price: '12.5',
  currency: 'EUR',
  hs_code: '731815',
  origin_country: 'ES',
  step: 3,
  rank: 7,
}
const samples: Parameters<typeof toDocument>[0][] = [
  example,
  {
    id: '2',
    sku: '00123',
    name: 'Screwdriver set 1/4 in',
    description: null,
    category: null,
    brand: null,
    unit: null,
    price: null,
    currency: null,
    hs_code: null,
    origin_country: null,
    step: null,
    rank: null,
  },
]

/** A hash of the settings and of how documents are made. An index that was built with another one is built anew. */
export function indexShape(): string {
  return createHash('sha256')
    .update(JSON.stringify([indexSettings, samples.map(toDocument)]))
    .digest('hex')
}

/** A document with every field, for an engine that has seen none yet. No product has its id. */
export const exampleDocument = () => toDocument({ ...example, id: '0' })

/** What this engine is known to hold, as the database has it; undefined for one that is not registered. */
export async function readIndexState(db: Kysely<Tables>, engineName: string) {
  return db
    .selectFrom('search_engines')
    .select((eb) => [
      'indexed_at',
      'shape',
      'last_task',
      'rebuild_asked_at',
      eb
        .exists(
          eb
            .selectFrom('product_changes')
            .select('id')
            .where('engine', '=', engineName)
            .where('product_id', 'is', null),
        )
        .as('was_truncated'),
    ])
    .where('name', '=', engineName)
    .executeTakeFirst()
}

/** Why the index must be built anew, in words that follow "because"; null when it need not. */
export async function reasonToRebuild(
  target: SyncTarget,
  tasks: Meilisearch = target.engine,
): Promise<string | null> {
  const { db, engine, indexName, engineName } = target
  const state = await readIndexState(db, engineName)
  if (!(await indexExists(engine, indexName))) return 'there is none'
  if (!state || state.indexed_at === null) return 'it is not known what it holds'
  if (state.last_task !== null && (await newestTask(tasks)) < Number(state.last_task))
    return 'the engine holds older contents'
  if (state.shape !== indexShape()) return 'its documents or settings are made by other rules'
  const settings: Record<string, unknown> = { ...(await engine.index(indexName).getSettings()) }
  if (
    Object.entries(indexSettings).some(
      ([name, expected]) => !isDeepStrictEqual(settings[name], expected),
    )
  )
    return 'its settings were changed'
  if (state.was_truncated) return 'the catalogue was emptied'
  if (state.rebuild_asked_at !== null) return 'it was asked for'
  return null
}

/** Whether the index holds as many documents as there should be. Also true while that cannot be told, because changes are on their way. */
export async function hasRightCount({
  db,
  engine,
  indexName,
  engineName,
}: SyncTarget): Promise<boolean> {
  const { rows } = await sql<{ expected: number; is_pending: boolean }>`
    select (select count(*) from products where active)::int as expected,
      exists (select from product_changes where engine = ${engineName}) as is_pending
  `.execute(db)
  const { rows: parked } = await sql<{ count: number }>`
    select count(*)::int as count from parked_documents where engine = ${engineName}
  `.execute(db)
  const { numberOfDocuments, isIndexing } = await engine.index(indexName).getStats()
  const [expected = 0, isPending = true, mayLack = 0] = [
    rows[0]?.expected,
    rows[0]?.is_pending,
    parked[0]?.count,
  ]
  return (
    isPending ||
    isIndexing ||
    (numberOfDocuments <= expected && numberOfDocuments >= expected - mayLack)
  )
}

export async function indexExists(engine: Meilisearch, indexName: string): Promise<boolean> {
  try {
    await engine.getRawIndex(indexName)
    return true
  } catch (error) {
    if (error instanceof MeilisearchApiError && error.response.status === 404) return false
    throw error
  }
}
