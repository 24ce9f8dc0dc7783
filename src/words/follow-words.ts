// Keeps the words of the company in memory, as of the version that the database has.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { builtInWords, readSearchWords, type SearchWords } from './search-words.ts'

export class FollowedWords {
  readonly #db: Kysely<Tables>
  #current = builtInWords
  #reading: Promise<void> | undefined

  constructor(db: Kysely<Tables>) {
    this.#db = db
  }

  /** Returns the words as they were last read, the built-in ones before that. */
  current(): SearchWords {
    return this.#current
  }

  /** Call it with the version that the database has. Reads the words if it is another one. */
  notice(version: string): void {
    if (version === this.#current.version || this.#reading) return
    this.#reading = readSearchWords(this.#db)
      .then((words) => {
        this.#current = words
      })
      // The next call reads again. The health check reports that PostgreSQL is unreachable.
      .catch(() => undefined)
      .finally(() => {
        this.#reading = undefined
      })
  }
}
