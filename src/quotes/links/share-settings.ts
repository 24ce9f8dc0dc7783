// The settings of quote links that every writer must follow. They are in the database, because the
// SQL functions that create and purge links read them there.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

export type ShareSettings = {
  /** The most lines that a shared quote may have. */
  maxLines: number
  /** Days after which the document of an expired or revoked link is emptied. */
  retentionDays: number
}

/** Records the settings in the database. */
export async function recordShareSettings(
  db: Kysely<Tables>,
  { maxLines, retentionDays }: ShareSettings,
): Promise<void> {
  await db
    .updateTable('quote_share_settings')
    .set({ max_lines: maxLines, retention_days: retentionDays })
    .execute()
}
