// Folds as an API process does, on a connection with the API's timeouts, and counts the updates of
// the summary by what PostgreSQL had to write for them.
import { sql } from 'kysely'
import { createKysely, type Database, openApiPool } from '../../../src/database/postgres-pool.ts'
import { SummaryFollower } from '../../../src/stats/summary/summary-follower.ts'

export class BackgroundFolding {
  readonly #db: Database
  #folding: SummaryFollower | null = null
  /** How many folds failed. */
  failures = 0

  constructor(url: string) {
    this.#db = createKysely(openApiPool(url))
  }

  start(): void {
    this.#folding = new SummaryFollower(this.#db, {
      log: console,
      observer: {
        countFoldFailure: () => {
          this.failures += 1
        },
        setCurrentAt: () => undefined,
      },
    })
    void this.#folding.start()
  }

  /** Stops after the running batch. Updates since the last pause are counted by then. */
  async pause(): Promise<void> {
    await this.#folding?.stop()
    this.#folding = null
    // Counted before the caller reads the statistics, which otherwise takes seconds.
    await sql`select pg_stat_force_next_flush()`.execute(this.#db)
  }

  async close(): Promise<void> {
    await this.#folding?.stop()
    await this.#db.destroy()
  }
}

/** Counts of updated rows, by table. */
export type Updates = Map<string, { updated: number; hot: number }>

/**
 * Reads how many rows of the summary have been updated. `hot`: those that needed no new entries in
 * indexes. Benchmarks change no other table whose name begins with quote_.
 */
export async function readUpdates(db: Database): Promise<Updates> {
  // What this connection has updated is counted too.
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ name: string; updated: string; hot: string }>`
    select relname as name, n_tup_upd as updated, n_tup_hot_upd as hot
    from pg_stat_user_tables where relname ~ '^(quote|customer|product)_' order by relname
  `.execute(db)
  return new Map(
    rows.map(({ name, updated, hot }) => [name, { updated: Number(updated), hot: Number(hot) }]),
  )
}

/** Describes the updates since `before`, in total and by table. */
export function describeUpdates(before: Updates, after: Updates): string {
  const tables = [...after].map(([name, { updated, hot }]) => {
    const earlier = before.get(name) ?? { updated: 0, hot: 0 }
    return { name, updated: updated - earlier.updated, hot: hot - earlier.hot }
  })
  const changed = tables.filter(({ updated }) => updated > 0)
  if (changed.length === 0) return 'no row of the summary was updated'
  const total = {
    updated: changed.reduce((sum, { updated }) => sum + updated, 0),
    hot: changed.reduce((sum, { hot }) => sum + hot, 0),
  }
  const share = ({ updated, hot }: { updated: number; hot: number }) =>
    `${((100 * hot) / updated).toFixed(1)} % HOT of ${updated.toLocaleString('en')}`
  const byTable = changed.map((table) => `${table.name} ${share(table)}`)
  return `updates of the summary: ${share(total)} (${byTable.join(', ')})`
}
