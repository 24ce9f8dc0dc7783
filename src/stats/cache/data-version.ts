// The data version: changes with every commit that changes a statistic, and is cheap to read.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { timeouts } from '../../timeouts.ts'

/**
 * `changes` counts every delta that this snapshot has ever contained, folded or not. It grows with
 * each commit, also if the commit's ids were assigned long ago. Folding does not change it.
 *
 * `generation` changes when the summary is rebuilt, when the quotes are truncated, and when the
 * database is restored. A restored copy continues the count from an older state, so the generation
 * includes the table's oid and the start time of the PostgreSQL server.
 */
export type DataVersion = { generation: string; changes: number }

/** Returns the data version of the snapshot that `db` reads. */
export async function readDataVersion(db: Kysely<Tables>): Promise<DataVersion> {
  const { generation, changes } = await db
    .selectFrom('quote_summary')
    .select([
      sql<string>`concat_ws(
        ' ', generation, tableoid, extract(epoch from pg_postmaster_start_time())
      )`.as('generation'),
      sql<string>`folded + (select count(*) from quote_deltas)`.as('changes'),
    ])
    .executeTakeFirstOrThrow()
  return { generation, changes: Number(changes) }
}

/** PostgreSQL's code for a missing privilege. */
const insufficientPrivilege = '42501'

/**
 * Returns an id that no other database has: the identifier of the PostgreSQL cluster and the oid of
 * the database. Replicas and failovers keep it. If the role may not read the identifier, returns
 * the generation, which is also unique but changes more often.
 */
async function readDatabaseId(db: Kysely<Tables>, { generation }: DataVersion): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '-' || oid as id
      from pg_control_system(), pg_database where datname = current_database()
    `.execute(db)
    return rows[0]?.id ?? generation
  } catch (error) {
    // Not logged: the generation works as well, except that fewer answers survive a restart.
    if ((error as { code?: unknown }).code === insufficientPrivilege) return generation
    throw error
  }
}

/** Whether data at `version` contains every change that data at `other` contains. */
export function includesChangesOf(version: DataVersion, other: DataVersion): boolean {
  return version.generation === other.generation && version.changes >= other.changes
}

/**
 * `readAt` (performance.now) is the moment before the query was sent. The version contains every
 * commit before that moment. `databaseId` identifies the database that was read.
 */
export type DataVersionReading = { version: DataVersion; databaseId: string; readAt: number }

/** Reads the data version five times a second, one query at a time. */
export class DataVersionPoller {
  readonly #db: Kysely<Tables>
  #latest: DataVersionReading | null = null
  #hasFailed = false
  #pending: { startedAt: number; finished: Promise<void> } | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(db: Kysely<Tables>) {
    this.#db = db
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#poll(), 0).unref()
  }

  /** Stops polling and waits for the query that is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#pending?.finished
  }

  /** Returns the latest reading; null before the first one. */
  latest(): DataVersionReading | null {
    return this.#latest
  }

  /** Returns a recent reading, or reads again. Returns null if PostgreSQL does not respond. */
  async recent(): Promise<DataVersionReading | null> {
    const latest = this.#latest
    if (latest && performance.now() - latest.readAt < timeouts.stats.recentDataVersion.ms)
      return latest
    await this.#read()
    return this.#hasFailed ? null : this.#latest
  }

  /** Whether the last query failed, or the running one has had no response for too long. */
  isFailing(): boolean {
    if (this.#hasFailed) return true
    if (!this.#pending) return false
    const elapsedMs = performance.now() - this.#pending.startedAt
    return elapsedMs > timeouts.stats.dataVersionResponse.ms
  }

  async #poll(): Promise<void> {
    await this.#read()
    if (this.#isStopped) return
    const intervalMs = timeouts.stats.dataVersionPoll.ms
    this.#timer = setTimeout(() => void this.#poll(), intervalMs).unref()
  }

  #read(): Promise<void> {
    if (this.#pending) return this.#pending.finished
    const startedAt = performance.now()
    const finished = this.#readOnce(startedAt).finally(() => {
      this.#pending = null
    })
    this.#pending = { startedAt, finished }
    return finished
  }

  async #readOnce(readAt: number): Promise<void> {
    try {
      const version = await readDataVersion(this.#db)
      this.#latest = { version, databaseId: await this.#databaseIdOf(version), readAt }
      this.#hasFailed = false
    } catch {
      // Not logged: a request that needs PostgreSQL reports the failure.
      this.#hasFailed = true
    }
  }

  /** Another database has another generation, so the id is read again only with that. */
  async #databaseIdOf(version: DataVersion): Promise<string> {
    const latest = this.#latest
    if (latest?.version.generation === version.generation) return latest.databaseId
    return readDatabaseId(this.#db, version)
  }
}
