// Counts the requests of each API key by day, and writes them in batches.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { isRefusal } from '../http/problem-details.ts'
import { timeouts } from '../timeouts.ts'

type Usage = {
  keyId: string
  day: string
  calls: number
  refusals: number
  wrongSecrets: number
}

/** While PostgreSQL is unreachable, counts accumulate up to this limit. Others are dropped. */
const maxPendingRows = 10_000

/** After a failed write, the counts are written with the next ones, unless the process ends. */
export class ApiKeyUsageRecorder {
  readonly #db: Kysely<Tables>
  #pending = new Map<string, Usage>()
  readonly #timer: NodeJS.Timeout

  constructor(db: Kysely<Tables>) {
    this.#db = db
    this.#timer = setInterval(() => void this.#write(), timeouts.auth.usageWrite.ms).unref()
  }

  /** Counts a request with a known key. Does not wait for the write. */
  record(keyId: string, status: number, now = new Date()): void {
    const refusals = Number(isRefusal(status))
    this.#add({ keyId, day: formatDay(now), calls: 1, refusals, wrongSecrets: 0 })
  }

  /** Counts a request with the id of a key and a wrong secret. It does not count as a call. */
  recordWrongSecret(keyId: string, now = new Date()): void {
    this.#add({ keyId, day: formatDay(now), calls: 0, refusals: 0, wrongSecrets: 1 })
  }

  /** Writes the pending counts and stops. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  #add(usage: Usage): void {
    const key = `${usage.keyId} ${usage.day}`
    const pending = this.#pending.get(key)
    if (pending) {
      pending.calls += usage.calls
      pending.refusals += usage.refusals
      pending.wrongSecrets += usage.wrongSecrets
    } else if (this.#pending.size < maxPendingRows) this.#pending.set(key, usage)
  }

  async #write(): Promise<void> {
    if (this.#pending.size === 0) return
    const rows = [...this.#pending.values()]
    this.#pending = new Map()
    // Every process writes in order of id, so that two cannot deadlock. The join leaves out keys
    // that were deleted meanwhile.
    await sql`
      insert into api_key_usage (key_id, day, calls, refusals, wrong_secrets)
      select u.key_id, u.day, u.calls, u.refusals, u.wrong_secrets
      from json_to_recordset(${JSON.stringify(rows.map(toRow))}::json)
        as u (key_id text, day date, calls bigint, refusals bigint, wrong_secrets bigint)
      join api_keys k on k.id = u.key_id
      order by u.key_id, u.day
      on conflict (key_id, day) do update set
        calls = api_key_usage.calls + excluded.calls,
        refusals = api_key_usage.refusals + excluded.refusals,
        wrong_secrets = api_key_usage.wrong_secrets + excluded.wrong_secrets
    `
      .execute(this.#db)
      // Health checks and metrics report that PostgreSQL is unreachable.
      .catch(() => rows.forEach((row) => void this.#add(row)))
  }
}

const formatDay = (instant: Date) => instant.toISOString().slice(0, 10)
const toRow = ({ keyId, wrongSecrets, ...row }: Usage) => ({
  key_id: keyId,
  wrong_secrets: wrongSecrets,
  ...row,
})
