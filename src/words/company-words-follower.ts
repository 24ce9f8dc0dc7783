// Keeps the words of the company in memory, as of the version that the database has.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { builtInWords, readSearchWords, type SearchWords } from './search-words.ts'

export class CompanyWordsFollower {
  readonly #db: Kysely<Tables>
  readonly #onFailure: (error: unknown) => void
  #current = builtInWords
  #reading: Promise<void> | undefined
  #hasFailed = false

  /**
   * `onFailure` gets the first error of reading the words, and another one only after they were
   * read in between.
   */
  constructor(db: Kysely<Tables>, onFailure: (error: unknown) => void) {
    this.#db = db
    this.#onFailure = onFailure
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
        this.#hasFailed = false
      })
      .catch((error: unknown) => {
        // The next call reads again.
        if (!this.#hasFailed) this.#onFailure(error)
        this.#hasFailed = true
      })
      .finally(() => {
        this.#reading = undefined
      })
  }
}
