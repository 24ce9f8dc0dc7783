// Measures how many changes of quotes wait to be folded into the summary.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/** Counting stops here, so that the query stays cheap however many deltas there are. */
const maxCounted = 10_000

/**
 * `count` is at most 10,000. `oldestSeconds` is the age of the oldest delta, from the start of its
 * transaction; 0 if there is none.
 */
export type UnfoldedChanges = { count: number; oldestSeconds: number }

/** Reads at most 10,000 rows and the first entry of the primary key. */
export async function readUnfoldedChanges(db: Kysely<Tables>): Promise<UnfoldedChanges> {
  const { rows } = await sql<UnfoldedChanges>`
    select
      (select count(*)::integer from (select from quote_deltas limit ${maxCounted}) d) as count,
      coalesce((
        select extract(epoch from now() - created_at)::float8
        from quote_deltas order by id limit 1
      ), 0) as "oldestSeconds"
  `.execute(db)
  return rows[0] ?? { count: 0, oldestSeconds: 0 }
}
