// The options of an import, its steps, and the counts that it returns.
import type { Writable } from 'node:stream'
import type { FileFormat } from './file-format.ts'
import type { LockHolder } from './import-lock.ts'
import type { ImportWarning } from './import-warnings.ts'

/** What an import is doing. `waiting`: another import of the same kind has the lock. */
export type ImportStep = 'waiting' | 'reading' | 'checking' | 'writing'

export type ImportOptions = {
  /** How the file is written. Default: formats.en. */
  format?: FileFormat
  /**
   * Receives the invalid rows as CSV; the valid rows are then imported. The stream is ended before
   * the import is committed. If every row is valid, nothing is written to it. Without this option
   * an invalid row is an error.
   */
  rejectedRows?: Writable
  /** Makes every warning an error. */
  isStrict?: boolean
  /** Called with the number of rows read so far, many times a second. */
  onProgress?: (rows: number) => void
  /** Called with each step. `holder`: the session that the import waits for. */
  onStep?: (step: ImportStep, holder?: LockHolder) => void
  /** Stops the import: it throws the reason of the signal and leaves the database unchanged. */
  signal?: AbortSignal
}

export type ImportSummary = {
  /** Rows in the file, without blank rows. */
  read: number
  /** Products, quotes, or rows of words. */
  inserted: number
  updated: number
  unchanged: number
  /** Rows written to `rejectedRows`. */
  rejected: number
  /** What was imported although it may be a mistake. */
  warnings: ImportWarning[]
}
