// Keeps the words of the company in memory, as of the version that the database has.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { FailureLog } from '../monitoring/log/failure-log.ts'
import { builtInWords, readSearchWords, type SearchWords } from './search-words.ts'

export class CompanyWordsFollower {
  readonly #db: Kysely<Tables>
  readonly #failures: FailureLog
  #current = builtInWords
  #reading: Promise<void> | undefined

  constructor(db: Kysely<Tables>, failures: FailureLog) {
    this.#db = db
    this.#failures = failures
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
        this.#failures.logSuccess()
      })
      // The next call reads again.
      .catch((error: unknown) => this.#failures.logFailure(error))
      .finally(() => {
        this.#reading = undefined
      })
  }
}
