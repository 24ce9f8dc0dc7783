// Follows the state of the indexes: the instant up to which each index contains every committed
// change, and the version of its contents.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { repeat } from '../monitoring/regular-task.ts'
import {
  advanceState,
  type IndexState,
  type IndexStateRow,
  readIndexStates,
} from './read-index-states.ts'

// Every instance notices a changed index within a second.
const indexStateIntervalMs = 250
// With the duration of one read, a changed index is noticed within a second.
export const indexStateMaxAge = { ms: 700 }

const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

type FollowOptions = {
  db: Kysely<Tables>
  registrationNames: string[]
  /** Called often with the version of the company's words in the database. */
  onCompanyWordsVersion(version: string): void
}

/** Follows the states of these indexes. The same query reads the version of the company's words. */
export class IndexStateFollower {
  readonly #options: FollowOptions
  readonly #states = new Map<string, IndexState>()
  /** By performance.now(), before the query was sent. */
  #readAt = Number.NEGATIVE_INFINITY
  readonly #stopping = new AbortController()
  #reading = Promise.resolve()

  constructor(options: FollowOptions) {
    this.#options = options
  }

  /** A failure is not logged: a request that needs PostgreSQL reports it. */
  start(): void {
    const { signal } = this.#stopping
    this.#reading = repeat(() => this.#read(), { pauseMs: indexStateIntervalMs, signal })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#reading
  }

  /**
   * Returns the last known state of this index. While PostgreSQL is unreachable, it has no version.
   */
  getLastKnownState(registrationName: string): IndexState {
    const state = this.#states.get(registrationName) ?? unknownState
    const ageMs = performance.now() - this.#readAt
    return ageMs < indexStateMaxAge.ms ? state : { ...state, version: null }
  }

  async #read(): Promise<void> {
    const { db, registrationNames } = this.#options
    const readAt = performance.now()
    const rows = await readIndexStates(db, registrationNames)
    this.#readAt = readAt
    this.#advanceStates(rows)
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
