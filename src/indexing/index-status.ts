// How far an index is behind the catalogue, and who keeps it in step.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

export type IndexStatus = {
  engine: string
  holder: string | null
  indexedAt: Date | null
  /** Seconds since the instant up to which the index holds everything; 0 when nothing is pending. Null: there is no index. */
  lagSeconds: number | null
  pending: number
  parked: { productId: string; sku: string | null; reason: string; parkedAt: Date }[]
  rebuildAskedAt: Date | null
}

export type IndexProgress = {
  indexedAt: Date | null
  lagSeconds: number | null
  pending: number
  refused: number
}

/** How far one index is; null for an engine that is not registered. */
export async function readProgress(
  db: Kysely<Tables>,
  engineName: string,
): Promise<IndexProgress | null> {
  const { rows } = await sql<IndexProgress>`
    select case when e.indexed_at is null or changes.pending > 0 then e.indexed_at else now() end as "indexedAt",
      case when e.indexed_at is null then null when changes.pending = 0 then 0
        else round(extract(epoch from now() - e.indexed_at), 1)::float8 end as "lagSeconds",
      changes.pending, (select count(*)::int from parked_documents p where p.engine = e.name) as refused
    from search_engines e cross join lateral (select count(*)::int as pending from product_changes c where c.engine = e.name) changes
    where e.name = ${engineName}
  `.execute(db)
  return rows[0] ?? null
}

/** Every registered engine, with at most ten of its parked documents. */
export async function readStatus(
  db: Kysely<Tables>,
): Promise<(IndexStatus & { parkedCount: number })[]> {
  const { rows } = await sql<Omit<IndexStatus, 'parked'> & { parkedCount: number }>`
    select e.name as "engine", e.rebuild_asked_at as "rebuildAskedAt", changes.pending, parked.count as "parkedCount",
      case when l.held_until > clock_timestamp() then l.holder end as "holder",
      case when e.indexed_at is null or changes.pending > 0 then e.indexed_at else now() end as "indexedAt",
      case when e.indexed_at is null then null when changes.pending = 0 then 0
        else round(extract(epoch from now() - e.indexed_at), 1)::float8 end as "lagSeconds"
    from search_engines e
      left join indexer_leases l on l.engine = e.name
      cross join lateral (select count(*)::int as pending from product_changes c where c.engine = e.name) changes
      cross join lateral (select count(*)::int as count from parked_documents p where p.engine = e.name) parked
    order by e.name
  `.execute(db)
  return Promise.all(
    rows.map(async (row) => {
      const parked = await db
        .selectFrom('parked_documents')
        .leftJoin('products', 'products.id', 'parked_documents.product_id')
        .select([
          'parked_documents.product_id as productId',
          'sku',
          'reason',
          'parked_at as parkedAt',
        ])
        .where('engine', '=', row.engine)
        .orderBy('parked_at')
        .limit(10)
        .execute()
      return { ...row, parked }
    }),
  )
}
