// How files write cells, their plain form (1234.5, 2026-12-31, EUR, KGM), and the checks of a cell
// and of a row. The checks mirror the constraints of the schema, but report readable problems, and
// take place while the file is read: in PostgreSQL they took longer than the rest of an import.
import { isLocalDate } from '../company/calendar.ts'
import type { FileFormat } from './file-format.ts'
import { foldName, knownUnits, statusWords, unitWords } from './known-words.ts'
import type { Row } from './readers/csv-parser.ts'

/** The codes of the database. */
export type KnownCodes = {
  currencies: Set<string>
  countries: Set<string>
  baseCurrency: string
}

/**
 * Returns the problem of a cell that is not empty, or undefined if it has none. `cell` is its plain
 * form; `written` is the cell as the file has it, for the message.
 */
export type CellCheck = (cell: string, written: string, codes: KnownCodes) => string | undefined

/** Returns the plain form of a cell, or its problem. */
export type CellReader = (cell: string) => string | { problem: string }

export type Column = {
  /** A file must have it, and none of its cells may be empty. */
  isRequired?: true
  /** A rule says which cells of a required column may be empty. */
  mayBeEmpty?: true
  /** None of its cells may be empty, if a file has it. */
  isFilled?: true
  /** The form depends on the format of the file. A percentage may have a percent sign. */
  form?: 'number' | 'percentage' | 'date'
  /** How other cells are brought into their plain form. Default: they stay as they are. */
  read?: CellReader
  check: CellCheck
  /**
   * The names that other programs give it, separated by commas, and compared without case, accents
   * and signs. If several columns of a file mean the same, the name that comes first here wins.
   */
  aliases?: string
}

/** A rule between two cells of a row. A problem is reported for the first one. */
export type CrossCellRule = {
  columns: readonly [string, string]
  /** Without both columns the rule is skipped. Otherwise a missing cell is the empty text. */
  needsBoth?: true
  findProblem(cell: string, other: string, codes: KnownCodes): string | undefined
}

export type FileColumns = {
  columns: Readonly<Record<string, Column>>
  rules: readonly CrossCellRule[]
  /** The names of the columns. */
  allowed: readonly string[]
  /** The folded names that a file may give to each column: its own, and then its aliases. */
  names: Readonly<Record<string, string[]>>
  required: readonly string[]
  /** Names what a row belongs to. It is stored even for a malformed row. */
  key: string
}

/** A longer cell is cut in a message. */
export const maxQuotedCharacters = 60

/** Returns a cell for a message: in quotation marks, on one line, cut after 60 characters. */
export function quoteForMessage(cell: string): string {
  const line = cell.replace(/\s+/g, ' ')
  const isTooLong = line.length > maxQuotedCharacters
  return `"${isTooLong ? `${line.slice(0, maxQuotedCharacters)}…` : line}"`
}

/** Returns SQL that quotes a cell as `quoteForMessage` does, or gives the word empty for null. */
export function sqlQuoteForMessage(cell: string): string {
  const line = `regexp_replace(${cell}, '\\s+', ' ', 'g')`
  return `case when ${cell} is null then 'empty'
    when length(${line}) > ${maxQuotedCharacters}
      then '"' || left(${line}, ${maxQuotedCharacters}) || '…"'
    else '"' || ${line} || '"' end`
}

export function checkLength(maxCharacters: number): CellCheck {
  return (cell) => {
    if (cell.length <= maxCharacters) return undefined
    // PostgreSQL counts code points, but String.length counts UTF-16 code units.
    const characters = [...cell].length
    return characters > maxCharacters
      ? `has ${characters} characters: at most ${maxCharacters} are allowed`
      : undefined
  }
}

const spreadsheetError = /^#[A-ZÁÉÍÓÚÑ/¡]+[!?/A]/

/** What spreadsheets and exports make of a SKU, by the reason. */
const damages: [pattern: RegExp, reason: string][] = [
  [
    /^\d([.,]\d+)?E\+\d+$/i,
    'is a number with an exponent, which a spreadsheet has made of a long SKU',
  ],
  [/^="?|^'/, 'begins with a mark that a spreadsheet uses for texts: save the text without it'],
  [spreadsheetError, 'is an error of a spreadsheet: correct its formula'],
  [/[\n\r]/, 'has a line break'],
]

/** A SKU as it can be typed, and as long as the schema allows. */
export const checkSku: CellCheck = (cell, ...more) => {
  const damage = damages.find(([pattern]) => pattern.test(cell))
  return damage ? `${quoteForMessage(cell)} ${damage[1]}` : checkLength(100)(cell, ...more)
}

/** Requires a match with `expression`; `problem` follows the quoted cell in the message. */
function checkPattern(expression: RegExp, problem: string): CellCheck {
  return (cell) => (expression.test(cell) ? undefined : `${quoteForMessage(cell)} ${problem}`)
}

/** Requires one of `values`; `problem` replaces the list of values in the message. */
export function checkOneOf(values: Iterable<string>, problem?: string): CellCheck {
  const allowed = new Set(values)
  const reason = problem ?? `is not one of ${[...allowed].join(', ')}`
  return (cell) => (allowed.has(cell) ? undefined : `${quoteForMessage(cell)} ${reason}`)
}

/** A whole number from 1 that fits into an integer. */
export const checkPositiveInteger = checkPattern(
  /^0{0,20}[1-9][0-9]{0,8}$/,
  'is not a whole number from 1 to 999999999',
)

const signs = {
  zeroOrMore: { minus: '', lowest: '0 or more', mayBeZero: true },
  aboveZero: { minus: '', lowest: 'above 0', mayBeZero: false },
  any: { minus: '-?', lowest: 'above -LIMIT', mayBeZero: true },
  notZero: { minus: '-?', lowest: 'other than 0, above -LIMIT', mayBeZero: false },
}
const notDecimal = (cell: string) =>
  /^-?[0-9]+(\.[0-9]+)?$/.test(cell) ? undefined : 'is not a number such as 1234.5'

/**
 * Requires a number that PostgreSQL can cast to numeric. Up to 20 leading and trailing zeros are
 * ignored; more could exceed what numeric holds.
 */
export function checkDecimal(
  wholeDigits: number,
  decimals: number,
  sign: keyof typeof signs,
): CellCheck {
  const { minus, lowest, mayBeZero } = signs[sign]
  const allowed = new RegExp(
    `^${minus}0{0,20}[0-9]{1,${wholeDigits}}(\\.[0-9]{1,${decimals}}0{0,20})?$`,
  )
  const limit = `1${'0'.repeat(wholeDigits)}`
  const limits =
    `must be ${lowest.replace('LIMIT', limit)} and below ${limit}, ` +
    `with at most ${decimals} decimals`
  return (cell, written) =>
    allowed.test(cell) && (mayBeZero || /[1-9]/.test(cell))
      ? undefined
      : `${quoteForMessage(written)} ${notDecimal(cell) ?? limits}`
}

/** 0 to 100, with at most four decimals. */
export const checkPercentage: CellCheck = (cell, written) =>
  /^0{0,20}([0-9]{1,2}(\.[0-9]{1,4}0{0,20})?|100(\.0{1,20})?)$/.test(cell)
    ? undefined
    : `${quoteForMessage(written)} ` +
      (notDecimal(cell) ?? 'must be from 0 to 100, with at most 4 decimals')

/**
 * A date as people write it, with a time of day only if it is midnight, as spreadsheets add it. The
 * groups 1 and 3 are day and month, or month and day.
 */
const slashedDate = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?: 0?0:00(?::00)?)?$/
const isoDate = /^\d{4}-\d\d-\d\d$/
/** With a time of day only if it is midnight, as databases add it. */
const yearFirst = /^(\d{4})([/.-])(\d{1,2})\2(\d{1,2})(?:[ T]00:00(?::00(?:\.0+)?)?Z?)?$/

export const checkDay: CellCheck = (cell, written) => {
  if (isLocalDate(cell)) return undefined
  const problem = isoDate.test(cell)
    ? 'is a day that does not exist'
    : 'is not a date such as 2026-12-31'
  return `${quoteForMessage(written)} ${problem}`
}

/**
 * For days of events: one mistyped year would make the default period of the statistics thousands
 * of years long.
 */
export const checkDayUntil2099: CellCheck = (cell, written, codes) =>
  checkDay(cell, written, codes) ??
  (cell > '2099-12-31' ? `${quoteForMessage(written)} is after 2099` : undefined)

export const checkDayOfIssue: CellCheck = (cell, written, codes) =>
  checkDayUntil2099(cell, written, codes) ??
  (cell < '1970-01-01' ? `${quoteForMessage(written)} is before 1970` : undefined)

export const checkUnit = checkPattern(
  /^[A-Z0-9]{2,3}$/,
  'is not a UN/ECE Recommendation 20 code such as C62 (piece), KGM or MTR',
)
export const checkHsCode = checkPattern(
  /^[0-9]{4,12}$/,
  'is not an HS code: 4 to 12 digits, without points',
)
export const checkCurrency: CellCheck = (cell, _, { currencies }) =>
  currencies.has(cell)
    ? undefined
    : `${quoteForMessage(cell)} is not an ISO 4217 currency such as EUR`
export const checkCountry: CellCheck = (cell, _, { countries }) =>
  countries.has(cell)
    ? undefined
    : `${quoteForMessage(cell)} is not an ISO 3166-1 alpha-2 country such as ES`

/** Yes and no, as people and spreadsheets write them, in lower case. */
const yesWords = ['true', 'yes', 'sí', 'si', 'verdadero', '1']
/** Only ASCII words, because PostgreSQL compares them with lower(). */
const noWords = ['false', 'no', 'falso', '0']
export const sqlListOfNoWords = noWords.map((word) => `'${word}'`).join(', ')
const yesAndNoWords = [...yesWords, ...noWords]
export const checkYesOrNo: CellCheck = (cell) =>
  yesAndNoWords.includes(cell.toLowerCase())
    ? undefined
    : `${quoteForMessage(cell)} is not one of ${yesAndNoWords.join(', ')}`

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

function createNumberReader(numbers: FileFormat['numbers'], isPercentage: boolean): CellReader {
  const [decimal, group] = numbers === '.' ? ['\\.', ','] : [',', '.']
  const form = new RegExp(
    `^-?(?:\\d+|[1-9]\\d{0,2}([${group}'’\\s])\\d{3}(?:\\1\\d{3})*)?(?:${decimal}\\d+)?$`,
  )
  const isPlain = numbers === '.' ? /^-?\d+(?:\.\d+)?$/ : /^-?\d+$/
  const separators = new RegExp(`[${group}'’\\s]`, 'g')
  const example = numbers === '.' ? 'point, such as 1234.5' : 'comma, such as 1234,5'
  return (cell) => {
    if (isPlain.test(cell)) return cell
    const { number, affix } = readAffix(cell)
    const isNumber = form.test(number) && /\d/.test(number)
    if (isNumber && (affix === '' || (affix === '%') === isPercentage))
      return number
        .replace(separators, '')
        .replace(',', '.')
        .replace(/^(-?)\./, '$10.')
    const reason = cell.startsWith('=')
      ? 'is a formula: save the values, not the formulas'
      : spreadsheetError.test(cell)
        ? 'is an error of a spreadsheet: correct its formula'
        : `is not a number with a decimal ${example}`
    return { problem: `${quoteForMessage(cell)} ${reason}` }
  }
}

function createDateReader(dates: FileFormat['dates']): CellReader {
  const example = { ymd: '2026-12-31', dmy: '31/12/2026', mdy: '12/31/2026' }[dates]
  const join = (year: string, month: string, day: string) =>
    `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  return (cell) => {
    if (isoDate.test(cell)) return cell
    const [, yearBefore, , monthAfter = '', dayAfter = ''] = yearFirst.exec(cell) ?? []
    if (yearBefore) return join(yearBefore, monthAfter, dayAfter)
    const [, first = '', sign, second = '', year = ''] = slashedDate.exec(cell) ?? []
    const [month, day] = dates === 'dmy' ? [second, first] : [first, second]
    // Dates with points have the day first everywhere.
    const isOfOtherForm = dates === 'ymd' || (dates === 'mdy' && sign === '.')
    if (year === '' || isOfOtherForm || Number(month) > 12)
      return { problem: `${quoteForMessage(cell)} is not a date such as ${example}` }
    return join(year, month, day)
  }
}

/** Returns a reader of cells whose form depends on the format of the file. */
export function createFormReader(
  form: NonNullable<Column['form']>,
  { numbers = '.', dates = 'ymd' }: Partial<FileFormat>,
): CellReader {
  return form === 'date'
    ? createDateReader(dates)
    : createNumberReader(numbers, form === 'percentage')
}

/** For codes of two or three letters. Other cells stay as they are, for the message. */
export const readCode: CellReader = (cell) =>
  /^[a-z]{2,3}$/i.test(cell) ? cell.toUpperCase() : cell

export const readLowerCase: CellReader = (cell) => cell.toLowerCase()

export const readStatus: CellReader = (cell) => statusWords[foldName(cell)] ?? foldName(cell)

/** A word that is no code stays as it is written. */
export const readUnit: CellReader = (cell) => {
  const code = cell.toUpperCase()
  if (knownUnits.has(code)) return code
  return unitWords[foldName(cell)] ?? (/^[A-Z0-9]{2,3}$/.test(code) ? code : cell)
}

/** For texts of one line: blanks are single. */
export const readSingleBlanks: CellReader = (cell) =>
  cell.includes('  ') ? cell.replace(/ {2,}/g, ' ') : cell

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

const lostCharacter = '\ufffd'
const lostProblem = `has the sign ${lostCharacter} for a lost character: export the file again in one encoding`

/**
 * Returns the cells of a row in their plain form and all its problems in one text, such as "name:
 * is missing; price: …", or undefined if there are none. An invalid cell stays as it is written.
 * The cells must be trimmed and in the order of the columns.
 */
export type RowReader = (row: Row) => { plainCells: string[]; problem: string | undefined }

type CellResult = { written: string; plain: string; problem: string | undefined }

/** `onCleanedSku` gets the SKUs from which something was removed, with their lines. */
export function createRowReader(
  { columns: columnsByName, rules }: FileColumns,
  columns: readonly string[],
  format: FileFormat,
  codes: KnownCodes,
  onCleanedSku?: (example: string) => void,
): RowReader {
  const definitions = columns.map(
    (name): Column => columnsByName[name] ?? { check: () => undefined },
  )
  const readers = definitions.map(({ form, read }) =>
    form ? createFormReader(form, format) : read,
  )
  const emptyProblems = definitions.map(({ isRequired, isFilled, mayBeEmpty }) =>
    (isRequired && !mayBeEmpty) || isFilled ? 'is missing' : undefined,
  )
  const rowRules = rules.flatMap((rule: CrossCellRule) => {
    const [index, other] = rule.columns.map((name) => columns.indexOf(name)) as [number, number]
    return rule.needsBoth && (index === -1 || other === -1) ? [] : [{ ...rule, index, other }]
  })
  const skuIndex = columns.indexOf('sku')
  // Consecutive rows repeat many cells, so the result for the previous text of a column is reused.
  const previous = emptyProblems.map((problem): CellResult => ({ written: '', plain: '', problem }))

  function readCell(written: string, index: number, isTyped: boolean): CellResult {
    const clean = cleanCell(written)
    if (clean === '') return { written, plain: '', problem: emptyProblems[index] }
    if (clean.includes(lostCharacter))
      return { written, plain: written, problem: `${quoteForMessage(clean)} ${lostProblem}` }
    const plain = (isTyped ? undefined : readers[index]?.(clean)) ?? clean
    if (typeof plain !== 'string') return { written, plain: written, problem: plain.problem }
    const problem = definitions[index]?.check(plain, written, codes)
    return { written, plain: problem === undefined ? plain : written, problem }
  }

  return ({ line, cells: writtenCells, typed }) => {
    const plainCells = writtenCells.slice()
    const problems: string[] = []
    const invalid = new Set<number>()
    for (let index = 0; index < columns.length; index++) {
      const written = writtenCells[index] ?? ''
      let cell = previous[index]
      if (cell?.written !== written || typed) {
        cell = readCell(written, index, typed?.[index] === true)
        previous[index] = cell
        if (index === skuIndex && cell.plain !== written && cell.problem === undefined)
          onCleanedSku?.(`line ${line}: ${cell.plain}`)
      }
      plainCells[index] = cell.plain
      if (cell.problem === undefined) continue
      problems.push(`${columns[index]}: ${cell.problem}`)
      invalid.add(index)
    }
    for (const { columns: names, index, other, findProblem } of rowRules) {
      // The problem would only repeat that of the cell.
      if (invalid.has(index) || invalid.has(other)) continue
      const problem = findProblem(plainCells[index] ?? '', plainCells[other] ?? '', codes)
      if (problem !== undefined) problems.push(`${names[0]}: ${problem}`)
    }
    return { plainCells, problem: problems.length > 0 ? problems.join('; ') : undefined }
  }
}
