// Finds out the delimiter of a file from a first line such as `sep=;`, or from its header.
import type { FileColumns } from '../file-columns.ts'
import { type FileFormat, formatWords } from '../file-format.ts'

const delimiters = Object.values(formatWords.delimiter)
const separatorLine = /^[\t ]*"?sep=([,;\t|])"?[\t ]*\r?(?=\n|$)/

/** Returns the delimiter of a first line such as `sep=;`, which Excel reads and writes. */
export function readSeparatorLine(text: string): FileFormat['delimiter'] | undefined {
  return separatorLine.exec(text)?.[1] as FileFormat['delimiter'] | undefined
}

/** Returns the text with the line `sep=;` blank, so that the line numbers do not change. */
export function removeSeparatorLine(text: string): string {
  return text.replace(separatorLine, '')
}

/** Returns the delimiter that separates the most known columns in the first line of `text`. */
export function detectDelimiter(
  text: string,
  { allowed }: FileColumns,
  current: FileFormat['delimiter'],
): FileFormat['delimiter'] {
  const [line = ''] = text.trimStart().split('\n', 1)
  const countColumns = (delimiter: string) =>
    line.split(delimiter).filter((cell) => allowed.includes(cell.replaceAll('"', '').trim())).length
  return delimiters.reduce(
    (best, delimiter) => (countColumns(delimiter) > countColumns(best) ? delimiter : best),
    current,
  )
}
