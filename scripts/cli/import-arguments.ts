// Parses the options of scripts/import.ts.
import { isLocalDate } from '../../src/company/calendar.ts'
import {
  type FileFormat,
  type FileKind,
  formats,
  formatWords,
} from '../../src/imports/file-format.ts'
import type { ProductImportOptions } from '../../src/imports/import-products.ts'
import type { QuoteImportOptions } from '../../src/imports/quotes/import-quotes.ts'
import { UsageError } from './command.ts'

export const importArguments = {
  rejects: { type: 'string' },
  format: { type: 'string' },
  delimiter: { type: 'string' },
  decimal: { type: 'string' },
  dates: { type: 'string' },
  encoding: { type: 'string' },
  full: { type: 'boolean' },
  'allow-removals': { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  strict: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

type ImportArguments = {
  [Name in keyof typeof importArguments]?:
    | ((typeof importArguments)[Name]['type'] extends 'boolean' ? boolean : string)
    | undefined
}

/** Returns the options of the import. Throws a UsageError that says what is wrong with one. */
export function parseImportOptions(
  kind: FileKind,
  values: ImportArguments,
): ProductImportOptions & QuoteImportOptions {
  checkFullOptions(kind, values)
  const { full = false, from, to, strict = false } = values
  const deactivationLimitPercent = parsePercent(values['allow-removals'])
  return {
    format: parseFormat(values),
    isStrict: strict,
    ...(kind !== 'quotes' && { isFull: full }),
    ...(deactivationLimitPercent !== undefined && { deactivationLimitPercent }),
    ...(from !== undefined && to !== undefined && { fullPeriod: parsePeriod(from, to) }),
  }
}

function checkFullOptions(kind: FileKind, values: ImportArguments): void {
  const { full = false, from, to } = values
  const hasLimit = values['allow-removals'] !== undefined
  const hasPeriod = from !== undefined || to !== undefined
  const isWholePeriod = full && from !== undefined && to !== undefined
  if (hasLimit && kind !== 'products')
    throw new UsageError('--allow-removals belongs to products: nothing else is made inactive.')
  if (hasLimit && !full) throw new UsageError('--allow-removals needs --full.')
  if (hasPeriod && kind !== 'quotes') throw new UsageError('--from and --to belong to quotes.')
  if (kind === 'quotes' && (full || hasPeriod) && !isWholePeriod)
    throw new UsageError(
      'For quotes, use --full --from DAY --to DAY together: the file has every quote issued then.',
    )
}

function parseFormat(values: ImportArguments): FileFormat {
  const { format: name = 'en', delimiter, decimal, dates, encoding } = values
  if (name !== 'en' && name !== 'es')
    throw new UsageError(`--format ${name} is not known: use en or es.`)
  return {
    ...formats[name],
    ...(delimiter !== undefined && { delimiter: parseWord('delimiter', delimiter) }),
    ...(decimal !== undefined && { decimal: parseWord('decimal', decimal) }),
    ...(dates !== undefined && { dates: parseWord('dates', dates) }),
    ...(encoding !== undefined && { encoding: parseWord('encoding', encoding.toLowerCase()) }),
  }
}

/** Accepts the word of a value, such as semicolon, and the value itself, such as ;. */
function parseWord<Part extends keyof FileFormat>(part: Part, text: string): FileFormat[Part] {
  const words = Object.entries(formatWords[part]) as [string, FileFormat[Part]][]
  const found = words.find(([word, value]) => text === word || text === value)
  if (found) return found[1]
  throw new UsageError(
    `--${part} ${text} is not known: use ${words.map(([word]) => word).join(', ')}.`,
  )
}

function parsePercent(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = /^(\d{1,3})\s*%?$/.exec(text)?.[1]
  if (number === undefined || Number(number) > 100)
    throw new UsageError(`--allow-removals ${text} is not a percentage from 0% to 100%.`)
  return Number(number)
}

function parsePeriod(from: string, to: string): { from: string; to: string } {
  for (const [name, day] of Object.entries({ from, to }))
    if (!isLocalDate(day)) throw new UsageError(`--${name} ${day} is not a day such as 2026-12-31.`)
  if (from > to) throw new UsageError(`--from ${from} is after --to ${to}.`)
  return { from, to }
}
