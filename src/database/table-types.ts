// The tables as Kysely's types. The files in schema/ create and explain them.

import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { CountedStatus, Outcome, QuoteStatus } from './quote-statuses.ts'

/** numeric: exact decimal text, read and written. */
type Numeric = string
/** date: YYYY-MM-DD text. openPool() keeps the driver from converting it to a Date. */
type LocalDate = string
/** bigint: decimal text when it is read. */
type Count = ColumnType<string, number, number>
type Instant = ColumnType<Date, Date | string, Date | string>

/** What API keys may allow. The check constraint `api_keys_scopes_check` lists the same. */
export const allScopes = ['search:read', 'stats:read', 'stats:detail'] as const
export type Scope = (typeof allScopes)[number]

/** The day on which a quote counts: of issue, or of acceptance. */
export type DateKind = 'issued' | 'accepted'

/** What a row of a table of the summary covers. `…_total`: all countries; the others: one. */
export type FigureGrain = 'day' | 'day_total' | 'month' | 'month_total' | 'year'
type CustomerGrain = 'month' | 'year'
export type ProductGrain = 'month' | 'month_total' | 'year' | 'year_total'

/** What the summary adds up, as decimal text. src/stats/figures.ts says what becomes of it. */
export type Figures = Record<
  | 'quotes'
  | CountedStatus
  | `${Outcome}_net`
  | 'own_net'
  | 'unconverted'
  | 'unconverted_net'
  | 'decided'
  | 'decision_days'
  | 'decision_histogram',
  string
>
type Cell<Grain> = {
  grain: Grain
  date_kind: DateKind
  starts_on: LocalDate
  country: string
  currency: string
}
/** `customer_id` is 0 for quotes without a customer. */
type CustomerCell = Cell<CustomerGrain> & {
  customer_id: string
  quotes: string
  accepted: string
  won_net: Numeric
  unconverted: string
}
/** `sku` is empty for lines without one. */
type ProductCell = Cell<ProductGrain> & {
  sku: string
  lines: string
  own_net: Numeric
  rated_net: Numeric
  unrated_lines: string
}

export type Tables = {
  currencies: { code: string; digits: number }
  countries: { code: string }
  languages: {
    code: string
    place: number
    vat_label: string
    sales_tax_label: string
    tax_reasons: ColumnType<unknown, string | undefined, string>
  }
  company: {
    the_only_row: Generated<boolean>
    base_currency: string
    time_zone: string
    seller: ColumnType<unknown, string, string>
  }
  products: {
    id: GeneratedAlways<string>
    sku: string
    name: string
    description: string | null
    category: string | null
    brand: string | null
    supplier: string | null
    unit: string | null
    price: Numeric | null
    currency: string | null
    hs_code: string | null
    origin_country: string | null
    active: Generated<boolean>
    sku_key: GeneratedAlways<string>
  }
  product_words: { word: string; products: number }
  product_popularity: {
    product_id: string
    times_quoted: number
    step: number
    rank: number | null
  }
  /** One row for each index. */
  search_indexes: {
    registration_name: string
    state: Generated<'unknown' | 'suspect' | 'writing' | 'settled'>
    indexed_at: Instant | null
    version: Generated<string>
    settled_before: Generated<string>
    database_identity: string | null
    last_task: unknown
    synonyms_version: string | null
    rebuild_requested_at: Instant | null
  }
  search_synonyms: { word: string; synonyms: string[]; two_way: Generated<boolean> }
  search_pins: { query: string; skus: string[] }
  search_hidden_words: { word: string; hides: Generated<'synonyms' | 'word'> }
  search_report_days: { day: LocalDate; searches: Count; without_result: Count }
  search_report_counts: {
    day: LocalDate
    kind: 'query' | 'word'
    text: string
    searches: Count
    without_result: Count
  }
  search_words_version: { the_only_row: Generated<boolean>; version: Generated<string> }
  index_leases: {
    registration_name: string
    holder: string | null
    held_until: Generated<Date>
  }
  index_parked_documents: {
    registration_name: string
    product_id: string
    reason: string
    parked_at: Generated<Date>
  }
  index_outbox: {
    id: GeneratedAlways<string>
    registration_name: string
    product_id: string | null
    xid: Generated<string>
  }
  customers: {
    id: GeneratedAlways<string>
    name: string
    tax_id: string | null
    address: string | null
    contact_name: string | null
    country: string | null
  }
  quotes: {
    id: GeneratedAlways<string>
    number: string
    version: Generated<number>
    status: QuoteStatus
    customer_id: string | null
    customer_name: string | null
    customer_tax_id: string | null
    customer_address: string | null
    customer_contact: string | null
    country: string | null
    currency: string
    rate: Numeric | null
    issued_on: LocalDate
    valid_until: LocalDate | null
    decided_on: LocalDate | null
    incoterm: string | null
    incoterm_place: string | null
    delivery: string | null
    payment_terms: string | null
    language: string | null
    tax_label: string | null
    default_tax_reason: string | null
    notes: string | null
    internal_notes: string | null
    global_discount_percent: Numeric | null
    global_discount_amount: Numeric | null
    withholding_percent: Numeric | null
    net: Generated<Numeric>
    tax: Generated<Numeric>
    gross: Generated<Numeric>
  }
  quote_lines: {
    quote_id: string
    position: number
    kind: Generated<'line' | 'optional' | 'heading' | 'text'>
    sku: string | null
    description: string
    quantity: Numeric | null
    unit: string | null
    unit_price: Numeric | null
    discount_percent: Generated<Numeric>
    tax_rate: Numeric | null
    surcharge_rate: Numeric | null
    tax_reason: string | null
    hs_code: string | null
    origin_country: string | null
    net: Generated<Numeric>
  }
  /** `quote` and `lines` are as PostgreSQL writes rows and arrays of rows. */
  quote_changes: {
    xid: Generated<string>
    sign: number
    quote: string | null
    lines: string | null
  }
  quote_figures: Cell<FigureGrain> & Figures
  customer_figures: CustomerCell
  product_figures: ProductCell
  quote_summary: {
    the_only_row: Generated<boolean>
    version: Generated<string>
    folded_at: Instant | null
    as_of_day: LocalDate | null
    base_currency: string | null
    base_digits: number | null
    unfolded_from: Generated<string>
    unfolded_xids: Generated<string>
    server_started_at: Generated<Date>
  }
  /** A view of quote_summary. */
  summary_state: {
    generation: string
    version: string
    as_of_day: LocalDate
    is_fold_due: boolean
    fold_age_ms: number | null
  }
  summary_check: {
    the_only_row: Generated<boolean>
    claimed_at: Generated<Date>
    claimed_month: Generated<LocalDate>
    completed_at: Generated<Date>
  }
  quote_shares: {
    id: GeneratedAlways<string>
    quote_id: string | null
    token_hash: Buffer
    document: string | null
    content_hash: string
    created_at: Generated<Date>
    expires_at: Instant | null
    revoked_at: Instant | null
    valid_until: GeneratedAlways<LocalDate | null>
  }
  quote_share_settings: {
    the_only_row: Generated<boolean>
    max_lines: Generated<number>
    retention_days: Generated<number>
  }
  quote_share_views: { share_id: string; viewed_at: Generated<Date> }
  api_key_usage: {
    key_id: string
    day: LocalDate
    calls: string
    refusals: string
    wrong_secrets: Generated<string>
    last_used_at: Date | null
  }
  api_keys: {
    id: string
    kind: 'secret' | 'publishable'
    name: string
    secret_hash: Buffer
    scopes: Scope[]
    origins: Generated<string[]>
    unlimited: Generated<boolean>
    limit_factor: Numeric | null
    created_at: Generated<Date>
    expires_at: Instant | null
    revoked_at: Instant | null
    successor_id: string | null
  }
}
