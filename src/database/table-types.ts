// The tables as Kysely's types. The migrations define the schema; schema.sql shows it, and
// docs/data-model.md explains it.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'

/** numeric: exact decimal text, read and written. */
type Numeric = string
/** date: YYYY-MM-DD text. openPool() keeps the driver from converting it to a Date. */
type LocalDate = string
type Instant = ColumnType<Date, Date | string, Date | string>

export type QuoteStatus = 'draft' | 'sent' | 'accepted' | 'rejected' | 'expired' | 'superseded'
export type Scope = 'search:read' | 'stats:read'

export type DateKind = 'issued' | 'accepted'
type Grain = 'day' | 'month'

/** The counts and amounts in each row of the summary. Amounts are those of accepted quotes. */
type Measures = {
  drafts: string
  sent: string
  accepted: string
  rejected: string
  expired: string
  net: Numeric
  base_net: Numeric
  unconverted: string
  unconverted_net: Numeric
}

export type Tables = {
  currencies: { code: string; digits: number }
  countries: { code: string }
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
    unit: string | null
    price: Numeric | null
    currency: string | null
    hs_code: string | null
    origin_country: string | null
    active: Generated<boolean>
    search_text: GeneratedAlways<string>
    sku_key: GeneratedAlways<string>
  }
  product_popularity: {
    product_id: string
    times_quoted: number
    step: number
    rank: number | null
  }
  search_engines: {
    name: string
    indexed_at: Instant | null
    version: Generated<string>
    shape: string | null
    last_task: string | null
    rebuild_asked_at: Instant | null
  }
  indexer_leases: {
    engine: string
    fence: string
    holder: string | null
    held_until: Instant | null
  }
  parked_documents: {
    engine: string
    product_id: string
    reason: string
    parked_at: Generated<Date>
  }
  product_changes: { id: GeneratedAlways<string>; engine: string; product_id: string | null }
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
    language: 'es' | 'en' | null
    notes: string | null
    internal_notes: string | null
    net: Generated<Numeric>
    tax: Generated<Numeric>
    gross: Generated<Numeric>
  }
  quote_lines: {
    quote_id: string
    position: number
    sku: string | null
    description: string
    quantity: Numeric
    unit: string | null
    unit_price: Numeric
    discount_percent: Generated<Numeric>
    tax_rate: Numeric | null
    surcharge_rate: Numeric | null
    hs_code: string | null
    origin_country: string | null
    net: Numeric
  }
  quote_deltas: Measures & {
    id: GeneratedAlways<string>
    date_kind: DateKind
    day: LocalDate
    country: string
    currency: string
    valid_until: LocalDate | null
    created_at: Generated<Date>
  }
  quote_figures: Measures & {
    grain: Grain
    date_kind: DateKind
    starts_on: LocalDate
    country: string
    currency: string
  }
  quote_validity: {
    issued_grain: Grain
    valid_grain: Grain
    issued_from: LocalDate
    valid_from: LocalDate
    country: string
    quotes: string
    currency: string
  }
  quote_summary: {
    the_only_row: Generated<boolean>
    generation: Generated<string>
    folded: Generated<string>
  }
  quote_shares: {
    id: GeneratedAlways<string>
    quote_id: string
    token_hash: Buffer
    document: string
    content_hash: string
    created_at: Generated<Date>
    expires_at: Instant | null
    revoked_at: Instant | null
  }
  quote_share_views: { share_id: string; viewed_at: Generated<Date> }
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
    last_used_at: Instant | null
  }
}
