// Finds out the delimiter of a file, and the format that it seems to have, to suggest it in an error.
import { Readable } from 'node:stream'
import { slashedDate } from '../cells/cell-checks.ts'
import {
  type FileColumns,
  type FileFormat,
  formats,
  formatWords,
  ImportError,
  type SuggestedFormat,
} from '../file-format.ts'
import { parseCsv } from './csv-parser.ts'

const commaNumber = /^-?\d+,\d+$/
const pointNumber = /^-?\d+\.\d+$/
/** 1.250 and 1,250 may both be 1250, so they do not show a decimal sign. */
const mayHaveThousands = /^-?[1-9]\d{0,2}([.,]\d{3})+$/

type CellFormat = Partial<Pick<SuggestedFormat, 'decimal' | 'dates' | 'ambiguousDate'>>

/**
 * Returns the format that the text at the start of a file seems to have, or undefined if it is
 * `current`. If the delimiter is that of `current`, the rest stays as in `current` unless the text
 * shows otherwise. With another delimiter, a file with semicolons is taken for Spanish unless a
 * cell contradicts that, because Spanish Excel writes semicolons. Any other file is taken for
 * English.
 */
export async function suggestFormat(
  text: string,
  fileColumns: FileColumns,
  current: FileFormat,
  encoding: FileFormat['encoding'],
): Promise<SuggestedFormat | undefined> {
  const content = removeSeparatorLine(text)
  const delimiter =
    readSeparatorLine(text) ?? detectDelimiter(content, fileColumns, current.delimiter)
  const [header, ...rows] = await readSample(content, delimiter)
  const found = findCellFormat(header ?? [], rows, fileColumns, current)
  const assumed = delimiter === current.delimiter ? current : assumeFormat(delimiter, found)
  return suggestUnlessCurrent({ ...assumed, ...found, delimiter, encoding }, current)
}

/** Like suggestFormat(), but for a file with known columns and delimiter, from its invalid rows. */
export function suggestFormatFromRows(
  columns: readonly string[],
  rows: string[][],
  fileColumns: FileColumns,
  current: FileFormat,
): SuggestedFormat | undefined {
  const found = findCellFormat(columns, rows, fileColumns, current)
  return suggestUnlessCurrent({ ...current, ...found }, current)
}

/** A file with semicolons is Spanish, unless a cell shows that it is not. Others are English. */
function assumeFormat(delimiter: FileFormat['delimiter'], found: CellFormat): FileFormat {
  const mayBeSpanish = delimiter === ';' && found.decimal !== '.' && found.dates !== 'mdy'
  return mayBeSpanish ? formats.es : formats.en
}

/**
 * Returns the format if it is not `current`. Semicolons and decimal commas are the Spanish format,
 * which also reads days as 2026-12-31 and finds out the encoding.
 */
function suggestUnlessCurrent(
  { ambiguousDate, ...format }: SuggestedFormat,
  current: FileFormat,
): SuggestedFormat | undefined {
  if (isSameFormat(format, current)) return undefined
  const isSpanish = format.delimiter === ';' && format.decimal === ',' && format.dates !== 'mdy'
  const suggested = isSpanish ? formats.es : format
  const assumesDayFirst = suggested.dates === 'dmy' && current.dates !== 'dmy'
  return assumesDayFirst && ambiguousDate !== undefined
    ? { ...suggested, ambiguousDate }
    : suggested
}

function isSameFormat(format: FileFormat, other: FileFormat): boolean {
  return (Object.keys(formatWords) as (keyof FileFormat)[]).every(
    (part) => format[part] === other[part],
  )
}

/**
 * Returns the cells of the complete rows of the text, or of those before the first error if it is
 * not CSV.
 */
async function readSample(text: string, delimiter: FileFormat['delimiter']): Promise<string[][]> {
  const rows: string[][] = []
  try {
    // Line by line, so that the rows before an error are known.
    const lines = text.match(/[^\n]*\n/g) ?? [text]
    for await (const batch of parseCsv(Readable.from(lines), delimiter))
      rows.push(...batch.map(({ cells }) => cells))
  } catch (error) {
    if (!(error instanceof ImportError)) throw error
    // Only a sample: the import itself reports what is wrong with these rows.
  }
  return rows
}

function findCellFormat(
  columns: readonly string[],
  rows: string[][],
  fileColumns: FileColumns,
  current: FileFormat,
): CellFormat {
  const cellsOf = (names: readonly string[]) =>
    names.flatMap((name) => {
      const index = columns.indexOf(name)
      return index === -1 ? [] : rows.map((cells) => cells[index] ?? '')
    })
  const numbers = cellsOf(fileColumns.numbers)
  const days = cellsOf(fileColumns.dates).flatMap((cell) => {
    const [, first, , second] = slashedDate.exec(cell) ?? []
    return first === undefined ? [] : [{ cell, first: Number(first), second: Number(second) }]
  })
  const showsDecimal = (cell: string, pattern: RegExp) =>
    pattern.test(cell) && !mayHaveThousands.test(cell)
  const commas = numbers.filter((cell) => showsDecimal(cell, commaNumber)).length
  const points = numbers.filter((cell) => showsDecimal(cell, pointNumber)).length
  const isMonthFirst = days.some(({ second }) => second > 12)
  const showsDayFirst = days.some(({ first }) => first > 12)
  const isDayFirst = showsDayFirst || (days.length > 0 && current.dates === 'ymd')
  const ambiguousDate = days.find(({ first, second }) => first !== second)?.cell
  return {
    ...(commas > points && { decimal: ',' as const }),
    ...(points > commas && { decimal: '.' as const }),
    ...(isMonthFirst ? { dates: 'mdy' as const } : isDayFirst && { dates: 'dmy' as const }),
    ...(!isMonthFirst && !showsDayFirst && ambiguousDate !== undefined && { ambiguousDate }),
  }
}

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
