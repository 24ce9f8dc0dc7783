// Checks the header of a file: its line end and its columns.
import { quoteForMessage } from '../cells/cell-checks.ts'
import { type FileColumns, rejectedRowColumns } from '../file-columns.ts'
import { ImportError } from '../import-error.ts'

const maxListedColumns = 20

/** Throws an ImportError if the first line of `text` ends with a bare carriage return. */
export function checkLineEnd(text: string): void {
  const [line = ''] = text.trimStart().split('\n', 1)
  if (line.trimEnd().includes('\r'))
    throw new ImportError(
      'The lines of the file end with a bare carriage return. Save or export it with LF or CRLF.',
    )
}

/** Throws an ImportError for unknown, repeated or missing columns. */
export function checkHeader(names: string[], fileColumns: FileColumns, line: number): void {
  const { allowed, required } = fileColumns
  const header = `Line ${line}, the header,`
  const knownColumns = `Known columns: ${allowed.join(', ')}.`
  const unknown = names.filter((name) => !allowed.includes(name) && !isRejectedRowColumn(name))
  if (unknown.length > 0) {
    const list = unknown
      .slice(0, maxListedColumns)
      .map((name) => (name === '' ? '(a column without a name)' : quoteForMessage(name)))
    const rest = unknown.length - list.length
    throw new ImportError(
      `${header} has unknown columns: ${list.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. ` +
        knownColumns,
    )
  }
  const [repeated] = names.filter((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new ImportError(`${header} has the column ${repeated} twice.`)
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0)
    throw new ImportError(
      `${header} lacks required columns: ${missing.join(', ')}. ${knownColumns}`,
    )
}

/** Returns whether a column belongs to a file of rejected rows. An import ignores such a column. */
export function isRejectedRowColumn(name: string): boolean {
  return (rejectedRowColumns as readonly string[]).includes(name)
}
