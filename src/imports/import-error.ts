// The error for a rejected import.
import type { FileFormat } from './file-format.ts'

type ImportErrorOptions = ErrorOptions & {
  /** The format that the file seems to have, if the import used a different one. */
  suggestedFormat?: FileFormat | undefined
}

/** The message says why nothing was imported, what to do, and the line if there is one. */
export class ImportError extends Error {
  readonly suggestedFormat: FileFormat | undefined

  constructor(message: string, { suggestedFormat, ...options }: ImportErrorOptions = {}) {
    super(message, options)
    this.suggestedFormat = suggestedFormat
  }
}
