// Follows the state of the indexes, in turn with the other processes that share Redis: the instant
// up to which each index contains every committed change, and the version of its contents.
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { Poller } from '../redis/poller.ts'
import { SharedPolling } from '../redis/shared-polling.ts'
import {
  advanceState,
  type IndexState,
  type IndexStateRow,
  parseStateRows,
  readIndexStates,
} from './read-index-states.ts'

// Every instance notices a changed index within a second.
const indexStateIntervalMs = 250
// All processes together read it about four times a second.
const indexStateLockMs = 230
// A shared state is used within half a second after it was read.
const sharedIndexStatePollMs = 100
// Reading PostgreSQL takes less time than a slow Redis.
const indexStateResponseMs = 100
// Polls must not wait for Redis one after another during an outage.
const indexStatePauseMs = 1_000
// With the duration of one read, a changed index is noticed within a second.
export const indexStateMaxAge = { ms: 700 }

const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

type FollowOptions = {
  db: Kysely<Tables>
  registrationNames: string[]
  /** Called often with the version of the company's words in the database. */
  onCompanyWordsVersion(version: string): void
  /** Without it, as without Redis, each process reads PostgreSQL. */
  sharedStates?: SharedPolling
}

/** Returns what processes need to read the states together. */
export function shareIndexStates(redis: RedisAccess | null, redisPrefix: string): SharedPolling {
  return new SharedPolling(redis, `${redisPrefix}index-states`, {
    lockMs: indexStateLockMs,
    maxAgeMs: indexStateMaxAge.ms,
    responseMs: indexStateResponseMs,
    pauseMs: indexStatePauseMs,
  })
}

type StateReading = { rows: IndexStateRow[]; readAt: number }

/** Follows the states of these indexes. The same query reads the version of the company's words. */
export class IndexStateFollower {
  readonly #options: FollowOptions
  readonly #poller: Poller<StateReading>
  readonly #states = new Map<string, IndexState>()

  constructor(options: FollowOptions) {
    this.#options = options
    const { db, registrationNames, sharedStates = null } = options
    this.#poller = new Poller<StateReading>({
      sharing: sharedStates,
      read: async (readAt) => ({ rows: await readIndexStates(db, registrationNames), readAt }),
      scopeOf: ({ rows }) => scopeOf(rows[0]?.identity ?? '', registrationNames),
      format: ({ rows }) => JSON.stringify(rows),
      parse({ text, readAt }) {
        const rows = parseStateRows(text)
        return rows && { rows, readAt }
      },
      onNewer: ({ rows }) => this.#advanceStates(rows),
      mayIdle: true,
      pauses: { aloneMs: indexStateIntervalMs, sharedMs: sharedIndexStatePollMs },
    })
  }

  start(): void {
    this.#poller.start()
  }

  async stop(): Promise<void> {
    await this.#poller.stop()
  }

  /**
   * Returns the last known state of this index. While PostgreSQL is unreachable, it has no version.
   * Also ends an idle pause, after which the states are read again.
   */
  getLastKnownState(registrationName: string): IndexState {
    const latest = this.#poller.latest()
    const state = this.#states.get(registrationName) ?? unknownState
    const ageMs = performance.now() - (latest?.readAt ?? Number.NEGATIVE_INFINITY)
    return ageMs < indexStateMaxAge.ms ? state : { ...state, version: null }
  }

  #advanceStates(rows: IndexStateRow[]): void {
    const { registrationNames, onCompanyWordsVersion } = this.#options
    for (const name of registrationNames) {
      // A database restored to a state before the registration has no row of an index.
      const row = rows.find((candidate) => candidate.name === name)
      this.#states.set(name, advanceState(row, this.#states.get(name)))
    }
    const [anyRow] = rows
    if (anyRow) onCompanyWordsVersion(anyRow.wordsVersion)
  }
}

/** It is a hash, because an identity has characters that keys of a Redis Cluster may not have. */
const scopeOf = (identity: string, registrationNames: string[]): string =>
  createHash('sha256')
    .update([identity, ...registrationNames].join(' '))
    .digest('base64url')
    .slice(0, 20)
