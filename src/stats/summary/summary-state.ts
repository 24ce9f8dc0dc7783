// The state of the summary: which changes it contains.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/**
 * `number` increases when the summary changes. `generation` changes when PostgreSQL restarts or is
 * restored, perhaps to an older state: only versions of a generation are comparable.
 */
export type SummaryVersion = { generation: string; number: number }

/**
 * `today` is the local day for which sent quotes count as open or expired. `isFoldDue`: a committed
 * change is not in the summary, or the day has ended. `foldAgeMs` is the time since the last fold
 * began; the summary contains all that was committed before. Null before the first fold.
 */
export type SummaryState = {
  version: SummaryVersion
  today: string
  isFoldDue: boolean
  foldAgeMs: number | null
}

/** Returns the state of the summary in the snapshot that `db` reads. */
export async function readSummaryState(db: Kysely<Tables>): Promise<SummaryState> {
  const row = await db.selectFrom('summary_state').selectAll().executeTakeFirstOrThrow()
  return {
    version: { generation: row.generation, number: Number(row.version) },
    today: row.as_of_day,
    isFoldDue: row.is_fold_due,
    foldAgeMs: row.fold_age_ms,
  }
}

/** Returns whether statistics of `version` contain every change that those of `other` contain. */
export function isAtLeast(version: SummaryVersion, other: SummaryVersion): boolean {
  return version.generation === other.generation && version.number >= other.number
}
