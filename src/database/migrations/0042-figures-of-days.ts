// Lets polls and folds find by an index what is not folded, whatever the planner expects. Computes
// the figures of single days by customer and by product without grouping them first.
import { type Kysely, sql } from 'kysely'
import { defineDayFigures, defineDetail } from './0022-customers-and-products.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  // A sequential scan would read the dead rows of folded changes, which vacuum cannot remove while
  // an old snapshot is open.
  await sql`
    create function count_unfolded_changes() returns bigint
    language sql stable set enable_seqscan = off
    return (select count(*) from unfolded_changes)
  `.execute(db)
  await sql`
    comment on function count_unfolded_changes is
      'The number of rows of quote_changes that are not folded.'
  `.execute(db)
  await defineDetail(db)
  await defineDayFigures(db)
}
