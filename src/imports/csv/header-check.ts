// Checks the header of a file: its separator, its line end, and its columns.
import { type FileColumns, rejectColumns } from '../file-columns.ts'
import { InvalidFileError } from '../invalid-file-error.ts'

const otherSeparators = { ';': 'semicolons', '\t': 'tabs', '|': 'bars' }

/**
 * Throws an InvalidFileError if the first line of `text` is separated by something other than
 * commas, or ends with a bare carriage return. An error about columns would be less clear.
 */
export function checkFirstLine(text: string, { allowed }: FileColumns): void {
  const [line = ''] = text.trimStart().split('\n', 1)
  const countColumns = (separator: string) =>
    line.split(separator).filter((cell) => allowed.includes(cell.replaceAll('"', '').trim())).length
  for (const [separator, name] of Object.entries(otherSeparators)) {
    if (countColumns(separator) > countColumns(','))
      throw new InvalidFileError(
        `The file separates its cells by ${name}. Save or export it with commas.`,
      )
  }
  if (line.trimEnd().includes('\r'))
    throw new InvalidFileError(
      'The lines of the file end with a bare carriage return. Save or export it with LF or CRLF.',
    )
}

/** Throws an InvalidFileError for unknown, repeated, missing or incomplete columns. */
export function checkHeader(names: string[], fileColumns: FileColumns, line: number): void {
  const { allowed, required, groups } = fileColumns
  const header = `Line ${line}, the header,`
  const knownColumns = `Known columns: ${allowed.join(', ')}.`
  const unknown = names.filter((name) => !allowed.includes(name) && !isRejectColumn(name))
  if (unknown.length > 0) {
    const list = unknown.map((name) =>
      name === '' ? '(a column without a name)' : JSON.stringify(name),
    )
    throw new InvalidFileError(`${header} has unknown columns: ${list.join(', ')}. ${knownColumns}`)
  }
  const [repeated] = names.filter((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined)
    throw new InvalidFileError(`${header} has the column ${repeated} twice.`)
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0)
    throw new InvalidFileError(
      `${header} lacks required columns: ${missing.join(', ')}. ${knownColumns}`,
    )
  for (const group of groups) {
    const given = group.filter((name) => names.includes(name))
    if (given.length > 0 && given.length < group.length)
      throw new InvalidFileError(`${header} must have ${group.join(' and ')} together.`)
  }
}

/** Returns whether a column belongs to a file of rejected rows. An import ignores such a column. */
export function isRejectColumn(name: string): boolean {
  return (rejectColumns as readonly string[]).includes(name)
}
