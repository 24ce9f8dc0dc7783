// The columns of the two kinds of files: exact names, in any order. What their cells may hold is in product-checks.ts and quote-checks.ts.

/** What a header must be like. */
export type Layout = {
  /** Every column that a file may have. */
  columns: readonly string[]
  /** Those that it must have, and that must not be empty. */
  required: readonly string[]
  /** Columns that say nothing without each other: a file has all of a group or none. */
  together: readonly (readonly string[])[]
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

/** The fields of a quote; they are repeated on each of its rows. */
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
  'notes',
  'internal_notes',
] as const

/** The fields of one line of a quote. */
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

export const requiredProductColumns = ['sku', 'name'] as const satisfies ProductColumn[]
export const requiredQuoteColumns = [
  'number',
  'status',
  'issued_on',
  'currency',
  'description',
  'quantity',
  'unit_price',
] as const satisfies QuoteColumn[]

export const productLayout: Layout = {
  columns: productColumns,
  required: requiredProductColumns,
  together: [['price', 'currency']],
}
export const quoteLayout: Layout = {
  columns: quoteColumns,
  required: requiredQuoteColumns,
  together: [],
}

/** What a rejects file has before the columns of its rows. An import reads over them, so that a mended rejects file can be imported as it is. */
export const rejectColumns = ['line', 'reason'] as const
