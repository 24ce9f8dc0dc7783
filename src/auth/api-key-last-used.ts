// When keys were used last: noted beside the answers, in batches, best effort.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

export type KeyUse = {
  /** Notes a use. Costs a look into a map, but once a minute. */
  note(id: string): void
  /** Writes what is waiting. */
  stop(): Promise<void>
}

const noteEveryMs = 60_000
const writeEveryMs = 5_000

/** Writes the time of use of each key at most once a minute from this process. What cannot be written is forgotten. */
export function keyUse(db: Kysely<Tables>): KeyUse {
  const notedAt = new Map<string, number>()
  const waiting = new Set<string>()
  const timer = setInterval(() => void write(), writeEveryMs).unref()

  async function write(): Promise<void> {
    if (waiting.size === 0) return
    const ids = [...waiting]
    waiting.clear()
    // Ordered, so that two processes never wait for each other crosswise.
    await sql`
      update api_keys set last_used_at = now()
      where id in (select id from api_keys where id = any(${ids}) order by id for update skip locked)
        and (last_used_at is null or last_used_at < now() - interval '30 seconds')
    `
      .execute(db)
      .catch(() => undefined)
  }

  return {
    note(id) {
      const now = performance.now()
      if (now - (notedAt.get(id) ?? Number.NEGATIVE_INFINITY) < noteEveryMs) return
      notedAt.set(id, now)
      waiting.add(id)
    },
    async stop() {
      clearInterval(timer)
      await write()
    },
  }
}
