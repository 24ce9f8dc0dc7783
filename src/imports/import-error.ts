// The error for an import that was refused.
import type { FileFormat } from './file-format.ts'

type ImportErrorOptions = ErrorOptions & {
  /** The format that the file seems to have, if it is not the one that it was read with. */
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
