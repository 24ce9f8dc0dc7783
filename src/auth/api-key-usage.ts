// Records how each API key is used: when last, and how often on each day. Writes both in batches.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { isRefusal } from '../http/problem-details.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { repeat } from '../monitoring/regular-task.ts'
import { countNoun } from '../text/count-noun.ts'

// One statement for many requests.
const usageWriteMs = 5_000
const dayMs = 24 * 60 * 60 * 1_000

type DailyUse = {
  keyId: string
  /** Days since 1970, in UTC. Formatted only when the counts are written: calls are frequent. */
  day: number
  /** Requests with the id and the secret of the key, including those that are rejected. */
  calls: number
  /** The calls with a status for which `isRefusal` is true. `calls` includes them. */
  refusals: number
  /**
   * Requests with the id of the key and a wrong secret. `calls` does not include them, because
   * their callers have not proved that the key is theirs.
   */
  wrongSecrets: number
  /** When a call was last admitted (Date.now). 0: none was. */
  lastUsedMs: number
}

/**
 * The methods that record do not wait for a write. A failed write is logged once per cause, and
 * what it had is written with the next one, unless the process ends.
 */
export class ApiKeyUsage {
  readonly #db: Kysely<Tables>
  readonly #log: TaskLog
  readonly #failures: FailureLog
  readonly #stopping = new AbortController()
  readonly #writing: Promise<void>
  #uses = new Map<string, DailyUse>()

  constructor(db: Kysely<Tables>, log: TaskLog) {
    this.#db = db
    this.#log = log
    this.#failures = new FailureLog(log, {
      failure: (cause) => `The use of API keys cannot be recorded (${cause})`,
      recovery: 'The use of API keys can be recorded again',
    })
    const { signal } = this.#stopping
    this.#writing = repeat(() => this.writePending(), { pauseMs: usageWriteMs, signal })
  }

  /** `isAdmitted`: the key had the right to the request. */
  recordCall(keyId: string, status: number, isAdmitted: boolean, now = Date.now()): void {
    const refusals = Number(isRefusal(status))
    const lastUsedMs = isAdmitted ? now : 0
    const day = Math.floor(now / dayMs)
    this.#add({ keyId, day, calls: 1, refusals, wrongSecrets: 0, lastUsedMs })
  }

  recordWrongSecret(keyId: string, now = Date.now()): void {
    const day = Math.floor(now / dayMs)
    this.#add({ keyId, day, calls: 0, refusals: 0, wrongSecrets: 1, lastUsedMs: 0 })
  }

  /** Writes what is pending and stops. Logs how many requests could not be recorded. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#writing
    await this.writePending()
    const lost = [...this.#uses.values()]
    const requests = lost.reduce((sum, { calls, wrongSecrets }) => sum + calls + wrongSecrets, 0)
    if (requests > 0)
      this.#log.error(
        `${countNoun(requests, 'request')} with an API key will never be in the report of the ` +
          'use of keys, because the process stops',
      )
  }

  #add(added: DailyUse): void {
    const key = `${added.keyId} ${added.day}`
    const use = this.#uses.get(key)
    if (!use) return void this.#uses.set(key, added)
    use.calls += added.calls
    use.refusals += added.refusals
    use.wrongSecrets += added.wrongSecrets
    use.lastUsedMs = Math.max(use.lastUsedMs, added.lastUsedMs)
  }

  /** Writes what is pending. Never rejects. */
  async writePending(): Promise<void> {
    const uses = [...this.#uses.values()]
    this.#uses = new Map()
    if (uses.length === 0) return
    try {
      await writeCounts(this.#db, uses)
      this.#failures.logSuccess()
    } catch (error) {
      this.#failures.logFailure(error)
      for (const use of uses) this.#add(use)
    }
  }
}

/**
 * Every process writes in order of id, so that two cannot deadlock. The join leaves out keys that
 * were deleted meanwhile.
 */
async function writeCounts(db: Kysely<Tables>, uses: DailyUse[]): Promise<void> {
  const rows = uses.map(({ keyId, day, calls, refusals, wrongSecrets, lastUsedMs }) => ({
    key_id: keyId,
    day: new Date(day * dayMs).toISOString().slice(0, 10),
    calls,
    refusals,
    wrong_secrets: wrongSecrets,
    last_used_at: lastUsedMs === 0 ? null : new Date(lastUsedMs),
  }))
  await sql`
    insert into api_key_usage (key_id, day, calls, refusals, wrong_secrets, last_used_at)
    select u.*
    from json_to_recordset(${JSON.stringify(rows)}::json) as u (key_id text, day date,
      calls bigint, refusals bigint, wrong_secrets bigint, last_used_at timestamptz)
    join api_keys k on k.id = u.key_id
    order by u.key_id, u.day
    on conflict (key_id, day) do update set
      calls = api_key_usage.calls + excluded.calls,
      refusals = api_key_usage.refusals + excluded.refusals,
      wrong_secrets = api_key_usage.wrong_secrets + excluded.wrong_secrets,
      last_used_at = greatest(api_key_usage.last_used_at, excluded.last_used_at)
  `.execute(db)
}
