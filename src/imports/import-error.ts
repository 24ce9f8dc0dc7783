// The error for a rejected import.
import type { SuggestedFormat } from './file-format.ts'

type ImportErrorOptions = ErrorOptions & {
  /** The format that the file seems to have, if the import used a different one. */
  suggestedFormat?: SuggestedFormat | undefined
}

/** The message says why nothing was imported, what to do, and the line if there is one. */
export class ImportError extends Error {
  readonly suggestedFormat: SuggestedFormat | undefined

  constructor(message: string, { suggestedFormat, ...options }: ImportErrorOptions = {}) {
    super(message, options)
    this.suggestedFormat = suggestedFormat
  }
}
