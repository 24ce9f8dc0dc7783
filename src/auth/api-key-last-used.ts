// Records when each API key was last used, in batches.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'

/** Writes when each key was last used, at most once a minute. A failed write is not repeated. */
export class LastUsedRecorder {
  readonly #db: Kysely<Tables>
  readonly #recordedAt = new Map<string, number>()
  readonly #pendingIds = new Set<string>()
  readonly #timer: NodeJS.Timeout

  constructor(db: Kysely<Tables>) {
    this.#db = db
    this.#timer = setInterval(() => void this.#write(), timeouts.auth.lastUsedWrite.ms).unref()
  }

  /** Notes that a key was used now. Does not wait for the write. */
  record(id: string): void {
    const now = performance.now()
    const recordedAt = this.#recordedAt.get(id) ?? Number.NEGATIVE_INFINITY
    if (now - recordedAt < timeouts.auth.lastUsedInterval.ms) return
    this.#recordedAt.set(id, now)
    this.#pendingIds.add(id)
  }

  /** Writes the pending times and stops. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  async #write(): Promise<void> {
    if (this.#pendingIds.size === 0) return
    const ids = [...this.#pendingIds]
    this.#pendingIds.clear()
    // Every process locks in order of id, so that two cannot deadlock.
    await sql`
      update api_keys set last_used_at = now()
      where id in (
        select id from api_keys where id = any(${ids}) order by id for update skip locked
      )
        and (last_used_at is null or last_used_at < now() - interval '30 seconds')
    `
      .execute(this.#db)
      // The time is only information for the operator, so a failed write is not reported.
      .catch(() => undefined)
  }
}
