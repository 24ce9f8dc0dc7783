// The settings of quote links that every writer must follow. They are in the database, because the
// SQL functions that create links and erase their documents read them there.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/**
 * Records the maximum number of lines in a shared quote, and the days after which the document of
 * an expired or revoked link is erased.
 */
export async function recordLinkSettings(
  db: Kysely<Tables>,
  { maxLines, retentionDays }: { maxLines: number; retentionDays: number },
): Promise<void> {
  await db
    .updateTable('quote_share_settings')
    .set({ max_lines: maxLines, retention_days: retentionDays })
    .execute()
}
