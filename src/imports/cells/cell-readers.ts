// Reads cells as files write them, and returns their plain form: 1234.5, 2026-12-31, EUR, KGM.
import { foldName, knownUnits, statusWords, unitWords } from '../column-aliases.ts'
import type { FileColumns, FileFormat } from '../file-format.ts'
import { isoDate, quoteForMessage, slashedDate } from './cell-checks.ts'

/** Returns the plain form of a cell that a file writes in its own format, or its problem. */
export type CellReader = (cell: string) => { plain: string } | { problem: string }

/** Returns how the numbers and the dates of a file are read, by column. */
export function createFormatReaders(
  { numbers, dates, percentages = [] }: FileColumns,
  format: FileFormat,
): Record<string, CellReader> {
  return Object.fromEntries([
    ...numbers.map((column) => [column, createNumberReader(format, percentages.includes(column))]),
    ...dates.map((column) => [column, createDateReader(format)]),
  ])
}

/** A sign or an ISO code of a currency, or a percent sign, before or after a number. */
const affixes =
  /^(-?)(?:([€$£¥%]|[A-Z]{3}(?=[\s\d]))\s*)?(-?[\d.,'’\s]*?-?)(?:\s*([€$£¥%]|(?<=[\s\d])[A-Z]{3}))?$/u

/** Returns a number without the sign of its currency or percentage, and that sign. */
export function readAffix(cell: string): { number: string; affix: string } {
  const [, minus = '', before, number = cell, after] = affixes.exec(cell.replace(/^−/, '-')) ?? []
  // SAP writes the minus at the end.
  const signed = number.endsWith('-') ? `-${number.slice(0, -1)}` : number
  return { number: minus + signed.trim(), affix: before ?? after ?? '' }
}

function createNumberReader(
  { numbers }: Pick<FileFormat, 'numbers'>,
  isPercentage: boolean,
): CellReader {
  const [decimal, group] = numbers === '.' ? ['\\.', ','] : [',', '.']
  const form = new RegExp(
    `^-?(?:\\d+|\\d{1,3}(?:([${group}'’\\s])\\d{3})(?:\\1\\d{3})*)?(?:${decimal}\\d+)?$`,
  )
  const isPlain = numbers === '.' ? /^-?\d+(?:\.\d+)?$/ : /^-?\d+$/
  const separators = new RegExp(`[${group}'’\\s]`, 'g')
  const example = numbers === '.' ? 'point, such as 1234.5' : 'comma, such as 1234,5'
  return (cell) => {
    if (isPlain.test(cell)) return { plain: cell }
    const { number, affix } = readAffix(cell)
    if (
      !form.test(number) ||
      !/\d/.test(number) ||
      (affix !== '' && (affix === '%') !== isPercentage)
    )
      return { problem: `${quoteForMessage(cell)} ${describeOther(cell, example)}` }
    const plain = number.replace(separators, '').replace(',', '.')
    return { plain: plain.replace(/^(-?)\./, '$10.') }
  }
}

/** Describes a cell that is not a number: what a spreadsheet left in it, or else what is needed. */
function describeOther(cell: string, example: string): string {
  if (cell.startsWith('=')) return 'is a formula: save the values, not the formulas'
  return /^#[A-ZÁÉÍÓÚÑ/¡]+[!?/A]/.test(cell)
    ? 'is an error of a spreadsheet: correct its formula'
    : `is not a number with a decimal ${example}`
}

function createDateReader({ dates }: FileFormat): CellReader {
  const example = { ymd: '2026-12-31', dmy: '31/12/2026', mdy: '12/31/2026' }[dates]
  return (cell) => {
    if (isoDate.test(cell)) return { plain: cell }
    const [, year, , month = '', day = ''] = yearFirst.exec(cell) ?? []
    if (year) return { plain: `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` }
    const [, first = '', , second = '', lastYear = ''] = slashedDate.exec(cell) ?? []
    if (lastYear === '' || dates === 'ymd')
      return { problem: `${quoteForMessage(cell)} is not a date such as ${example}` }
    const [slashedDay, slashedMonth] = dates === 'dmy' ? [first, second] : [second, first]
    return { plain: `${lastYear}-${slashedMonth.padStart(2, '0')}-${slashedDay.padStart(2, '0')}` }
  }
}

/** With a time of day only if it is midnight, as databases add it. */
const yearFirst = /^(\d{4})([/.-])(\d{1,2})\2(\d{1,2})(?:[ T]00:00(?::00(?:\.0+)?)?Z?)?$/

/** For codes of two or three letters. Other cells stay as they are, for the message. */
export const readCode: CellReader = (cell) => ({
  plain: /^[a-z]{2,3}$/i.test(cell) ? cell.toUpperCase() : cell,
})
export const readLowerCase: CellReader = (cell) => ({ plain: cell.toLowerCase() })

export const readStatus: CellReader = (cell) => {
  const word = foldName(cell)
  return { plain: statusWords[word] ?? word }
}

/** A word that is no code stays as it is written. */
export const readUnit: CellReader = (cell) => {
  const code = cell.toUpperCase()
  if (knownUnits.has(code)) return { plain: code }
  const word = unitWords[foldName(cell)]
  return { plain: word ?? (/^[A-Z0-9]{2,3}$/.test(code) ? code : cell) }
}

/** Texts of these characters need no cleaning. */
const onlyUsual = /^[ -~¡-¬®-˿]*$/
/** The joiners within emoji and Persian words stay. */
const invisible = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}]/gu
const unusualBlanks = /(?![\t\n\r])[\p{Zs}\p{Zl}\p{Zp}]/gu

/**
 * Returns the cell without characters that nobody sees, with plain blanks, and with its accents on
 * their letters (NFC): otherwise cells that look the same would differ.
 */
export function cleanCell(cell: string): string {
  if (onlyUsual.test(cell)) return cell
  return cell.normalize('NFC').replace(invisible, '').replace(unusualBlanks, ' ').trim()
}

/** For texts of one line: blanks are single. */
export const readSingleBlanks: CellReader = (cell) => ({
  plain: cell.includes('  ') ? cell.replace(/ {2,}/g, ' ') : cell,
})
