// The formats and the columns of files, and the error of a rejected import.
import { fileColumns } from '../products/fields.ts'
import { columnAliases } from './column-aliases.ts'

/** How a text file is written. */
export type FileFormat = {
  encoding: 'utf-8' | 'windows-1252' | 'utf-16le' | 'utf-16be'
  delimiter: ',' | ';' | '\t' | '|'
  /** The decimal sign. The other sign may separate thousands. */
  numbers: '.' | ','
  /** The order of dates such as 03/04/2026. `ymd`: there are none. */
  dates: 'ymd' | 'dmy' | 'mdy'
}

/** The words that the options for the parts of a format accept, with their values. */
export const formatWords = {
  encoding: { 'utf-8': 'utf-8', 'windows-1252': 'windows-1252' },
  delimiter: { comma: ',', semicolon: ';', tab: '\t', bar: '|' },
  numbers: { point: '.', comma: ',' },
  dates: { ymd: 'ymd', dmy: 'dmy', mdy: 'mdy' },
} as const satisfies { [Part in keyof FileFormat]: Record<string, FileFormat[Part]> }

export const delimiterNames = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' } as const

/** What the user says about the file. Everything else is found out from the file. */
export type TableOptions = {
  format?: Partial<FileFormat>
  /** The columns of the import by the names that the header has (--map). */
  columnNames?: ReadonlyMap<string, string>
  /** Columns of the file without a meaning are left out (--ignore-unknown). */
  ignoresUnknown?: boolean
  /** Values for the cells that the file leaves empty or lacks, by column (--set, --currency). */
  defaults?: Readonly<Record<string, string>>
  /** The name of the sheet of a workbook. Default: the first one. */
  sheet?: string
}

export type FileKind = 'products' | 'quotes' | 'quote-statuses' | WordFileKind
export type WordFileKind = 'synonyms' | 'pins' | 'hidden-words'

export type FileColumns = {
  allowed: readonly string[]
  required: readonly string[]
  /** Columns with numbers, whose decimal sign depends on the format of the file. */
  numbers: readonly string[]
  /** Columns with dates, whose form depends on the format of the file. */
  dates: readonly string[]
  /** Columns of `numbers` whose cells may have a percent sign. */
  percentages?: readonly string[]
  /** Names of the columns in other programs, separated by commas. */
  aliases?: Readonly<Record<string, string>>
}

/**
 * The fields of a quote. Each row of the quote repeats them. A new one also needs a rule in
 * quotes/quote-cell-rules.ts, and its type in quotes/assemble-quotes.ts.
 */
export const quoteFields = [
  'number',
  'version',
  'status',
  'issued_on',
  'valid_until',
  'decided_on',
  'customer_name',
  'customer_tax_id',
  'customer_address',
  'customer_contact',
  'country',
  'currency',
  'rate',
  'incoterm',
  'incoterm_place',
  'delivery',
  'payment_terms',
  'language',
  'tax_label',
  'default_tax_reason',
  'notes',
  'internal_notes',
] as const

/** The fields of a quote without number and version, which identify it. */
export const repeatedQuoteFields = quoteFields.filter(
  (field) => field !== 'number' && field !== 'version',
)

/**
 * The fields of one line of a quote. A new one also needs a rule in quotes/quote-cell-rules.ts, and
 * its type in quotes/assemble-quotes.ts.
 */
export const quoteLineFields = [
  'position',
  'sku',
  'description',
  'quantity',
  'unit',
  'unit_price',
  'discount_percent',
  'tax_rate',
  'surcharge_rate',
  'tax_reason',
  'hs_code',
  'origin_country',
] as const

export const quoteColumns = [...quoteFields, ...quoteLineFields] as const
export type QuoteColumn = (typeof quoteColumns)[number]

export const requiredQuoteColumns = [
  'number',
  'status',
  'issued_on',
  'currency',
  'description',
  'quantity',
  'unit_price',
] as const satisfies QuoteColumn[]

export const productFileColumns: FileColumns = {
  allowed: fileColumns,
  required: ['sku'],
  numbers: ['price'],
  dates: [],
  aliases: columnAliases.products,
}
export const quoteFileColumns: FileColumns = {
  allowed: quoteColumns,
  required: requiredQuoteColumns,
  numbers: ['rate', 'quantity', 'unit_price', 'discount_percent', 'tax_rate', 'surcharge_rate'],
  dates: ['issued_on', 'valid_until', 'decided_on'],
  percentages: ['discount_percent', 'tax_rate', 'surcharge_rate'],
  aliases: columnAliases.quotes,
}

export const quoteStatusFileColumns: FileColumns = {
  allowed: ['number', 'version', 'status', 'decided_on'],
  required: ['number', 'status'],
  numbers: [],
  dates: ['decided_on'],
  aliases: columnAliases.quotes,
}

/** The first column identifies a row. */
export const wordFileColumns: Record<WordFileKind, FileColumns> = {
  synonyms: {
    allowed: ['word', 'synonyms', 'two_way'],
    required: ['word', 'synonyms'],
    numbers: [],
    dates: [],
  },
  pins: { allowed: ['query', 'skus'], required: ['query', 'skus'], numbers: [], dates: [] },
  'hidden-words': { allowed: ['word', 'hides'], required: ['word'], numbers: [], dates: [] },
}

/** Returns the columns of a kind of file. */
export function fileColumnsOf(kind: FileKind): FileColumns {
  if (kind === 'products') return productFileColumns
  if (kind === 'quote-statuses') return quoteStatusFileColumns
  return kind === 'quotes' ? quoteFileColumns : wordFileColumns[kind]
}

/**
 * The columns that come before those of the imported file in a file of rejected rows. An import
 * ignores them, so a corrected file of rejected rows can be imported as it is.
 */
export const rejectedRowColumns = ['line', 'reason'] as const

/** The message says why nothing was imported, what to do, and the line if there is one. */
export class ImportError extends Error {}
