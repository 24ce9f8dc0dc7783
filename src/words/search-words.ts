// The words that a search knows: synonyms, pinned products and ignored words. Reads them from the
// tables of the company, and keeps them in memory. No program reads more-languages/: a company
// imports these synonyms if it sells in that language (docs/importing.md).
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { FailureLog } from '../monitoring/log/failure-log.ts'
import { buildSynonymMap, type SynonymMap, type Synonyms } from './synonym-map.ts'
import { everyWord, toWordKey } from './word-rules.ts'

export type SearchWords = {
  /** Identifies the state of the tables; null if they have not been read. */
  version: string | null
  synonyms: SynonymMap
  /** The SKUs that come first, by the words of the whole query. */
  pins: ReadonlyMap<string, readonly string[]>
  /** Folded words without built-in synonyms and translations; `*` stands for every word. */
  hiddenWords: ReadonlySet<string>
  /** Folded words that a search ignores beside others. */
  ignoredWords: ReadonlySet<string>
}

/** What a search knows before the tables have been read. */
export const builtInWords: SearchWords = {
  version: null,
  synonyms: buildSynonymMap([], new Set()),
  pins: new Map(),
  hiddenWords: new Set(),
  ignoredWords: new Set(),
}

type WordRows = {
  version: string
  synonyms: Synonyms[]
  pins: { query: string; skus: string[] }[]
  hidden: { word: string; hides: 'synonyms' | 'word' }[]
}

/** Reads all words in one statement, so that they belong to one version. */
export async function readSearchWords(db: Kysely<Tables>): Promise<SearchWords> {
  const { rows } = await sql<WordRows>`
    select version::text,
      (select coalesce(json_agg(s order by word), '[]') from search_synonyms s) as synonyms,
      (select coalesce(json_agg(p order by query), '[]') from search_pins p) as pins,
      (select coalesce(json_agg(h order by word), '[]') from search_hidden_words h) as hidden
    from search_words_version
  `.execute(db)
  const [row] = rows
  if (!row) throw new Error('The table search_words_version has no row.')
  const { version, synonyms, pins, hidden } = row
  const wordsThatHide = (what: 'synonyms' | 'word') =>
    hidden.flatMap(({ word, hides }) => (hides === what ? [word] : []))
  const hiddenWords = new Set(
    wordsThatHide('synonyms').map((word) => (word === everyWord ? word : toWordKey(word))),
  )
  return {
    version,
    synonyms: buildSynonymMap(synonyms, hiddenWords),
    hiddenWords,
    pins: new Map(
      pins
        .map(({ query, skus }) => [toWordKey(query), skus] as const)
        .filter(([query]) => query !== ''),
    ),
    ignoredWords: new Set(wordsThatHide('word').map(toWordKey)),
  }
}

/** Keeps the words as of the version that the database has. */
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
