// The formats and the columns of files, and the error of a rejected import.

export type FileFormat = {
  delimiter: ',' | ';' | '\t' | '|'
  decimal: '.' | ','
  dates: 'ymd' | 'dmy' | 'mdy'
  /** `auto`: the first bytes beyond ASCII decide between UTF-8 and Windows-1252. */
  encoding: 'utf-8' | 'windows-1252' | 'auto'
}

export type SuggestedFormat = FileFormat & {
  /** A date of the file such as 03/04/2026, if `dates` is `dmy` but no date shows the order. */
  ambiguousDate?: string
}

/** The words that the options for the parts of a format accept, with their values. */
export const formatWords = {
  delimiter: { comma: ',', semicolon: ';', tab: '\t', bar: '|' },
  decimal: { point: '.', comma: ',' },
  dates: { ymd: 'ymd', dmy: 'dmy', mdy: 'mdy' },
  encoding: { 'utf-8': 'utf-8', 'windows-1252': 'windows-1252', auto: 'auto' },
} as const satisfies { [Part in keyof FileFormat]: Record<string, FileFormat[Part]> }

export const delimiterNames = {
  ',': { one: 'comma', several: 'commas' },
  ';': { one: 'semicolon', several: 'semicolons' },
  '\t': { one: 'tab', several: 'tabs' },
  '|': { one: 'bar', several: 'bars' },
} as const satisfies Record<FileFormat['delimiter'], { one: string; several: string }>

/** Spanish Excel and `/api/stats?format=csv&locale=es` write `es`. */
export const formats = {
  en: { delimiter: ',', decimal: '.', dates: 'ymd', encoding: 'utf-8' },
  es: { delimiter: ';', decimal: ',', dates: 'dmy', encoding: 'auto' },
} as const satisfies Record<string, FileFormat>

export type FileKind = 'products' | 'quotes' | WordFileKind
export type WordFileKind = 'synonyms' | 'pins' | 'hidden-words'

export type FileColumns = {
  allowed: readonly string[]
  required: readonly string[]
  /** Columns with numbers, whose decimal sign depends on the format of the file. */
  numbers: readonly string[]
  /** Columns with dates, whose form depends on the format of the file. */
  dates: readonly string[]
}

export const productColumns = [
  'sku',
  'name',
  'description',
  'category',
  'brand',
  'unit',
  'price',
  'currency',
  'hs_code',
  'origin_country',
  'active',
] as const
export type ProductColumn = (typeof productColumns)[number]

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
  allowed: productColumns,
  required: ['sku'],
  numbers: ['price'],
  dates: [],
}
export const quoteFileColumns: FileColumns = {
  allowed: quoteColumns,
  required: requiredQuoteColumns,
  numbers: ['rate', 'quantity', 'unit_price', 'discount_percent', 'tax_rate', 'surcharge_rate'],
  dates: ['issued_on', 'valid_until', 'decided_on'],
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

/**
 * The columns that come before those of the imported file in a file of rejected rows. An import
 * ignores them, so a corrected file of rejected rows can be imported as it is.
 */
export const rejectedRowColumns = ['line', 'reason'] as const

type ImportErrorOptions = ErrorOptions & {
  /** The format that the file seems to have, if the import used a different one. */
  suggestedFormat?: SuggestedFormat | undefined
}

/** The message says why nothing was imported, what to do, and the line if there is one. */
export class ImportError extends Error {
  readonly suggestedFormat: SuggestedFormat | undefined

  constructor(message: string, { suggestedFormat, ...options }: ImportErrorOptions = {}) {
    super(message, options)
    this.suggestedFormat = suggestedFormat
  }
}
