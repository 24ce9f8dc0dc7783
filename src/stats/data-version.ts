// Where the data of the figures stands: a cheap mark that moves with every commit that changes a figure, and with nothing else.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

/**
 * `changes` counts every delta that this snapshot has ever seen, folded or not: it grows with each commit, also with one that took its ids long
 * ago, and folding leaves it as it is. A generation ends when the summary is rebuilt or the quotes are truncated; and, as a copy of the database
 * counts on from where it was made, when one is restored: the table is then another one, or the server another one or started anew.
 */
export type Position = { generation: string; changes: number }

/** The position of the snapshot that `db` reads. */
export async function readPosition(db: Kysely<Tables>): Promise<Position> {
  const { generation, changes } = await db
    .selectFrom('quote_summary')
    .select([
      sql<string>`concat_ws(' ', generation, tableoid, extract(epoch from pg_postmaster_start_time()))`.as(
        'generation',
      ),
      sql<string>`folded + (select count(*) from quote_deltas)`.as('changes'),
    ])
    .executeTakeFirstOrThrow()
  return { generation, changes: Number(changes) }
}

/** Whether figures at `own` hold every change that is known at `seen`. */
export function covers(own: Position, seen: Position): boolean {
  return own.generation === seen.generation && own.changes >= seen.changes
}

/** A position, and when (performance.now) it was asked for: every commit before that moment is in it. */
export type Seen = { position: Position; askedAt: number }

export type Follower = {
  /** What was seen last; null before the first look. */
  latest(): Seen | null
  /** What was seen within the last half second, else a new look. Null when PostgreSQL does not answer. */
  recent(): Promise<Seen | null>
  /** Whether the last look failed, or is hanging. */
  failing(): boolean
  stop(): Promise<void>
}

const lookEveryMs = 200
const recentMs = 500
const hangingAfterMs = 1_000

/** Looks at the position five times a second, one look at a time. */
export function followPosition(db: Kysely<Tables>): Follower {
  let seen: Seen | null = null
  let failing = false
  let looking: Promise<void> | null = null
  let lookingSince = 0
  let stopped = false
  let timer: NodeJS.Timeout

  function look(): Promise<void> {
    if (looking) return looking
    const askedAt = performance.now()
    lookingSince = askedAt
    looking = readPosition(db)
      .then(
        (position) => {
          seen = { position, askedAt }
          failing = false
        },
        () => {
          failing = true
        },
      )
      .finally(() => {
        looking = null
      })
    return looking
  }

  async function follow(): Promise<void> {
    await look()
    if (!stopped) timer = setTimeout(follow, lookEveryMs).unref()
  }
  timer = setTimeout(follow, 0).unref()

  return {
    latest: () => seen,
    failing: () =>
      failing || (looking !== null && performance.now() - lookingSince > hangingAfterMs),
    async recent() {
      if (seen && performance.now() - seen.askedAt < recentMs) return seen
      await look()
      return failing ? null : seen
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await looking
    },
  }
}
