// Measures how many changes of quotes wait to be folded into the summary.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/**
 * `count` is the number of changes; a statement that changes many quotes counts once.
 * `oldestSeconds` is the age of the oldest one, from the start of its transaction; 0 without any.
 */
export type UnfoldedChanges = { count: number; oldestSeconds: number }

export async function readUnfoldedChanges(db: Kysely<Tables>): Promise<UnfoldedChanges> {
  return db
    .selectFrom('unfolded_changes')
    .select([
      sql<number>`count(*)::integer`.as('count'),
      sql<number>`coalesce(extract(epoch from now() - min(created_at)), 0)::float8`.as(
        'oldestSeconds',
      ),
    ])
    .executeTakeFirstOrThrow()
}
