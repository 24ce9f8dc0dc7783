// The kinds of files, and the columns of each: exact names, in any order.

export type FileKind = 'products' | 'quotes' | WordFileKind
/** Files with words for search. */
export type WordFileKind = 'synonyms' | 'pins' | 'hidden-words'

/** The rules for the header of a file. */
export type FileColumns = {
  /** Every column that a file may have. */
  allowed: readonly string[]
  /** Columns that a file must have. */
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
 * its type in quotes/quote-totals.ts.
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
