// The error for a file that cannot be imported.
import type { FileFormat } from './file-format.ts'

type InvalidFileErrorOptions = ErrorOptions & {
  /** The format that the file seems to have, if it is not the one that it was read with. */
  suggestedFormat?: FileFormat | undefined
}

/** The message says why, on which line, and what to do. Nothing was imported. */
export class InvalidFileError extends Error {
  readonly suggestedFormat: FileFormat | undefined

  constructor(message: string, { suggestedFormat, ...options }: InvalidFileErrorOptions = {}) {
    super(message, options)
    this.suggestedFormat = suggestedFormat
  }
}
