// Reads the requests of each API key by day and formats them as a table for the terminal.
import type { Kysely } from 'kysely'
import type { Tables } from '../../src/database/table-types.ts'
import { alignColumns } from './align-columns.ts'

const header = ['day', 'id', 'name', 'calls', 'refused', 'wrong secret']

/** Returns one line for each key and day (UTC) since `firstDay` (YYYY-MM-DD), newest first. */
export async function formatKeyReport(db: Kysely<Tables>, firstDay: string): Promise<string> {
  const rows = await db
    .selectFrom('api_key_usage as usage')
    .innerJoin('api_keys as key', 'key.id', 'usage.key_id')
    .select(['usage.day', 'key.id', 'key.name'])
    .select(['usage.calls', 'usage.refusals', 'usage.wrong_secrets'])
    .where('usage.day', '>=', firstDay)
    .orderBy('usage.day', 'desc')
    .orderBy('usage.calls', 'desc')
    .orderBy('key.id')
    .execute()
  if (rows.length === 0) return `No request with a key was counted since ${firstDay}.`
  const cells = rows.map(({ day, id, name, calls, refusals, wrong_secrets }) => [
    day,
    id,
    name,
    calls,
    refusals,
    wrong_secrets,
  ])
  return alignColumns([header, ...cells])
}
