// The settings of quote links that SQL functions enforce, also for an ERP that creates links.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/**
 * Records the maximum number of lines in a linked quote, and the days after which the document of
 * an expired or revoked link is erased. The settings have one row, which a migration has inserted.
 */
export async function recordLinkSettings(
  db: Kysely<Tables>,
  { maxLines, retentionDays }: { maxLines: number; retentionDays: number },
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('quote_share_settings')
    .set({ max_lines: maxLines, retention_days: retentionDays })
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) throw new Error('quote_share_settings must have exactly one row.')
}
