// What a caller can ask of an import, and what it tells when it is done.
import type { Writable } from 'node:stream'

export type ImportOptions = {
  /**
   * Takes the bad rows as CSV, so that the good ones are imported. It is ended before the import is committed; nothing is written to it when every
   * row is good. Without it a bad row is an error.
   */
  rejects?: Writable
  /** Called with the number of rows read so far, many times a second. */
  onProgress?: (rows: number) => void
  /** Called when the import goes on to something else, with words such as "checking". */
  onStep?: (step: string) => void
  /** Stops the import: its reason is thrown, and the database is as it was. */
  signal?: AbortSignal
}

export type ImportSummary = {
  /** Rows in the file, blank ones apart. */
  read: number
  /** Products or quotes. */
  inserted: number
  updated: number
  unchanged: number
  /** Rows given to `rejects`. */
  rejected: number
}
