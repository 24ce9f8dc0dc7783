// Records how each API key is used: when last, and how often on each day. Writes both in batches.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { isRefusal } from '../http/problem-details.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { countNoun } from '../text/count-noun.ts'

// A minute is exact enough to find unused keys.
const lastUsedIntervalMs = 60_000
// Two statements for many requests.
const usageWriteMs = 5_000

type DailyCounts = {
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
}

/**
 * The maximum number of counts that wait while PostgreSQL is unreachable: one for each key and day.
 * Further ones are dropped.
 */
export const maxPendingCounts = 10_000

/**
 * The methods that record do not wait for a write. A failed write is logged once per cause.
 *
 * - Its counts are written with the next ones, unless the process ends or `maxPendingCounts` is
 *   reached.
 * - Its times of last use are not written again. The SQL writes now(), which would be too late by
 *   then. The first admitted call after `lastUsedInterval` is written instead.
 */
export class ApiKeyUsage {
  readonly #db: Kysely<Tables>
  readonly #lastRecordedAt = new Map<string, number>()
  readonly #usedIds = new Set<string>()
  #counts = new Map<string, DailyCounts>()
  readonly #timer: NodeJS.Timeout
  readonly #failures: FailureLog
  readonly #log: TaskLog
  /** The number of requests whose counts were dropped since the last successful write. */
  #droppedCount = 0
  #lastWrite = Promise.resolve()

  constructor(db: Kysely<Tables>, log: TaskLog) {
    this.#db = db
    this.#log = log
    this.#failures = new FailureLog(log, {
      failure: (cause) => `The use of API keys cannot be recorded (${cause})`,
      recovery: 'The use of API keys can be recorded again',
    })
    this.#timer = setInterval(() => void this.writePending(), usageWriteMs).unref()
  }

  recordLastUse(keyId: string): void {
    const now = performance.now()
    const recordedAt = this.#lastRecordedAt.get(keyId) ?? Number.NEGATIVE_INFINITY
    if (now - recordedAt < lastUsedIntervalMs) return
    this.#lastRecordedAt.set(keyId, now)
    this.#usedIds.add(keyId)
  }

  recordCall(keyId: string, status: number, now = new Date()): void {
    const refusals = Number(isRefusal(status))
    this.#add({ keyId, day: getDay(now), calls: 1, refusals, wrongSecrets: 0 })
  }

  recordWrongSecret(keyId: string, now = new Date()): void {
    this.#add({ keyId, day: getDay(now), calls: 0, refusals: 0, wrongSecrets: 1 })
  }

  /** Writes what is pending and stops. Logs how many requests could not be recorded. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.writePending()
    this.#logDropped()
    const unwritten = [...this.#counts.values()]
    this.#logLost(
      unwritten.reduce((sum, { calls, wrongSecrets }) => sum + calls + wrongSecrets, 0),
      'the process stops',
    )
  }

  #add(counts: DailyCounts): void {
    const key = `${counts.keyId} ${counts.day}`
    const pending = this.#counts.get(key)
    if (pending) {
      pending.calls += counts.calls
      pending.refusals += counts.refusals
      pending.wrongSecrets += counts.wrongSecrets
    } else if (this.#counts.size < maxPendingCounts) {
      this.#counts.set(key, counts)
    } else {
      this.#droppedCount += counts.calls + counts.wrongSecrets
    }
  }

  /**
   * Writes what is pending, after a write that is under way. Resolves when that has succeeded or
   * failed. Never rejects.
   */
  writePending(): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#write())
    return this.#lastWrite
  }

  async #write(): Promise<void> {
    const ids = [...this.#usedIds]
    this.#usedIds.clear()
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    if (ids.length === 0 && counts.length === 0) return
    const writes = await Promise.allSettled([
      writeLastUse(this.#db, ids),
      writeCounts(this.#db, counts),
    ])
    const [, countsWrite] = writes
    if (countsWrite.status === 'rejected') for (const each of counts) this.#add(each)
    const failed = writes.filter((write) => write.status === 'rejected')
    for (const { reason } of failed) this.#failures.logFailure(reason)
    if (failed.length > 0) return
    this.#failures.logSuccess()
    this.#logDropped()
  }

  #logDropped(): void {
    this.#logLost(this.#droppedCount, `${maxPendingCounts} counts were waiting to be written`)
    this.#droppedCount = 0
  }

  #logLost(requests: number, reason: string): void {
    if (requests === 0) return
    this.#log.error(
      `${countNoun(requests, 'request')} with an API key will never be in the report of the use ` +
        `of keys, because ${reason}`,
    )
  }
}

const dayMs = 24 * 60 * 60 * 1_000

const getDay = (instant: Date) => Math.floor(instant.getTime() / dayMs)
const formatDay = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)

/**
 * Skips a key whose row another process is updating at that moment, instead of waiting. Also skips
 * a key whose last use another process has recorded within half of `lastUsedInterval`.
 *
 * The lock is not `for update`. A new row of api_key_usage locks its key, so `for update` would
 * also skip a key whose counts are being written.
 */
async function writeLastUse(db: Kysely<Tables>, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const halfIntervalSeconds = lastUsedIntervalMs / 2 / 1_000
  await sql`
    update api_keys set last_used_at = now()
    where id in (
      select id from api_keys where id = any(${ids}) for no key update skip locked
    )
      and (
        last_used_at is null
        or last_used_at < now() - make_interval(secs => ${halfIntervalSeconds})
      )
  `.execute(db)
}

/**
 * Every process writes in order of id, so that two cannot deadlock. The join leaves out keys that
 * were deleted meanwhile.
 */
async function writeCounts(db: Kysely<Tables>, counts: DailyCounts[]): Promise<void> {
  if (counts.length === 0) return
  const rows = counts.map(({ keyId, day, wrongSecrets, ...row }) => ({
    key_id: keyId,
    day: formatDay(day),
    wrong_secrets: wrongSecrets,
    ...row,
  }))
  await sql`
    insert into api_key_usage (key_id, day, calls, refusals, wrong_secrets)
    select u.key_id, u.day, u.calls, u.refusals, u.wrong_secrets
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as u (key_id text, day date, calls bigint, refusals bigint, wrong_secrets bigint)
    join api_keys k on k.id = u.key_id
    order by u.key_id, u.day
    on conflict (key_id, day) do update set
      calls = api_key_usage.calls + excluded.calls,
      refusals = api_key_usage.refusals + excluded.refusals,
      wrong_secrets = api_key_usage.wrong_secrets + excluded.wrong_secrets
  `.execute(db)
}
