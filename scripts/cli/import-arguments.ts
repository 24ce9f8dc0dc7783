// Parses the options of scripts/import.ts.
import { isLocalDate } from '../../src/company/calendar.ts'
import { type FileFormat, formatWords, type TableOptions } from '../../src/imports/file-format.ts'
import { type FileKind, fileKinds } from '../../src/imports/file-kinds.ts'
import type { ProductImportOptions } from '../../src/imports/import-products.ts'
import { foldName } from '../../src/imports/known-words.ts'
import type { QuoteImportOptions } from '../../src/imports/quotes/import-quotes.ts'
import { type OptionValues, UsageError } from './command.ts'

export const importArguments = {
  rejects: { type: 'string' },
  encoding: { type: 'string' },
  delimiter: { type: 'string' },
  numbers: { type: 'string' },
  dates: { type: 'string' },
  sheet: { type: 'string' },
  map: { type: 'string', multiple: true },
  set: { type: 'string', multiple: true },
  currency: { type: 'string' },
  'ignore-unknown': { type: 'boolean' },
  full: { type: 'boolean' },
  'allow-removals': { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  replace: { type: 'boolean' },
  strict: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

type ImportArguments = OptionValues<typeof importArguments>

/** Returns the options of the import. Throws a UsageError that says what is wrong with one. */
export function parseImportOptions(
  kind: FileKind,
  values: ImportArguments,
): ProductImportOptions & QuoteImportOptions {
  checkFullOptions(kind, values)
  const { full = false, from, to, strict = false } = values
  const deactivationLimitPercent = parsePercent(values['allow-removals'])
  return {
    ...parseTableOptions(kind, values),
    isStrict: strict,
    isReplacing: values.replace ?? false,
    isDryRun: values['dry-run'] ?? false,
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
  if (values.replace && kind !== 'quotes') throw new UsageError('--replace belongs to quotes.')
  if (full && kind === 'quote-statuses')
    throw new UsageError('--full does not belong to quote-statuses: a file never has all of them.')
  if (hasPeriod && kind !== 'quotes') throw new UsageError('--from and --to belong to quotes.')
  if (kind === 'quotes' && (full || hasPeriod) && !isWholePeriod)
    throw new UsageError(
      'For quotes, use --full --from DAY --to DAY together: the file has every quote issued then.',
    )
}

function parseTableOptions(kind: FileKind, values: ImportArguments): TableOptions {
  const { encoding, delimiter, numbers, dates, map = [], set = [], currency } = values
  const pairs = currency === undefined ? set : [...set, `currency=${currency}`]
  return {
    format: {
      ...(encoding !== undefined && { encoding: parseWord('encoding', encoding.toLowerCase()) }),
      ...(delimiter !== undefined && { delimiter: parseWord('delimiter', delimiter) }),
      ...(numbers !== undefined && { numbers: parseWord('numbers', numbers) }),
      ...(dates !== undefined && { dates: parseWord('dates', dates) }),
    },
    columnNames: new Map(
      map.map((text) => {
        const [name, column] = splitAtLastEquals('--map', text)
        return [name, parseColumn(kind, column)]
      }),
    ),
    defaults: Object.fromEntries(
      pairs.map((text) => {
        const [column, value] = splitAtLastEquals('--set', text)
        return [parseColumn(kind, column), value]
      }),
    ),
    ignoresUnknown: values['ignore-unknown'] ?? false,
    ...(values.sheet !== undefined && { sheet: values.sheet }),
  }
}

function splitAtLastEquals(option: string, text: string): [string, string] {
  const [, before = '', after = ''] = /^(.+)=(.+)$/s.exec(text) ?? []
  if (before !== '') return [before.trim(), after.trim()]
  const form = option === '--map' ? '"NAME IN THE FILE=column"' : 'column=VALUE'
  throw new UsageError(`${option} ${text} is not of the form ${option} ${form}.`)
}

function parseColumn(kind: FileKind, text: string): string {
  const { allowed } = fileKinds[kind]
  const column = allowed.find((name) => foldName(name) === foldName(text))
  if (column) return column
  throw new UsageError(`There is no column ${text} of ${kind}: use one of ${allowed.join(', ')}.`)
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
