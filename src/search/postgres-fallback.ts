// Search in PostgreSQL, for when the engine is slow or down: the same shape, plainer relevance. Words and their beginnings first; where nothing
// holds them all, the nearest by trigrams.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import { maxTotal } from '../search-engine/product-document.ts'
import { canBeginHsCode, codeKey, isSeparatedCode } from '../text/product-codes.ts'
import { replaceSizes } from '../text/sizes.ts'
import { plainHighlightsOf, type Typed, typedAs } from './highlights.ts'
import type { Facets, Found, Hit, SearchRequest } from './schema.ts'

/** How many of a broad match are put in order; beyond, the order would cost more than it is worth at "c" or "de". */
const maxOrdered = 2_000
const maxNearest = 100
/** 1 - word_similarity at most, as the operator <% has it by default (0.6), and a little more for short words. */
const maxDistance = 0.45

/** Searches the products table. Throws when PostgreSQL does not answer. */
export async function searchDatabase(db: Kysely<Tables>, request: SearchRequest): Promise<Found> {
  const holding = await find(
    db,
    request,
    request.text === '' ? everything(request.facets.length > 0) : holdingWords(request.text),
  )
  // Nothing is like a code but the code.
  if (holding.total > 0 || request.text === '' || isSeparatedCode(request.text)) return holding
  return find(db, request, nearest(request.text))
}

/** Matching ids and how well they match: `score`, higher first. */
type Candidates = (visible: RawBuilder<unknown>) => RawBuilder<unknown>

/** Without facets, which count all, no more than can be paged through: the most quoted, then by name. */
function everything(whole: boolean): Candidates {
  if (whole) return (visible) => sql`select id, 0::real as score from products where ${visible}`
  return (visible) => sql`
    select id, 0::real as score from products join product_popularity on product_id = id where ${visible}
    union (select id, 0::real from products where ${visible} order by name, id limit ${maxTotal + 100})`
}

function holdingWords(text: string): Candidates {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? []
  // Words hold letters and digits only, so nothing in them is an operator.
  const query = words.map((word) => `'${word}':*`).join(' & ')
  const [first = ''] = words
  return (visible) => sql`(
    select id, -strpos(search_text, fold_text(${first}))::real as score from products
    where ${visible} and to_tsvector('simple', search_text) @@ to_tsquery('simple', fold_text(${query})) limit ${maxOrdered}
  ) union (select id, 1::real from products where ${visible} and ${sameCode(text)} limit ${maxOrdered})`
}

/** SKUs by any part of them, HS codes by their beginning. The key holds letters and digits only, so nothing in it is a wildcard. */
function sameCode(text: string): RawBuilder<unknown> {
  const key = codeKey(text)
  if (key.length < 3) return sql`sku_key = ${key}`
  const held = sql`sku_key like ${`%${key}%`}`
  return canBeginHsCode(key) ? sql`(${held} or hs_code like ${`${key}%`})` : held
}

function nearest(text: string): Candidates {
  return (visible) => sql`select id, -distance::real as score from (
    select id, fold_text(${text}) <<-> search_text as distance from products
    where ${visible} order by fold_text(${text}) <<-> search_text limit ${maxNearest}
  ) as near where distance <= ${maxDistance}`
}

async function find(
  db: Kysely<Tables>,
  request: SearchRequest,
  candidates: Candidates,
): Promise<Found> {
  const { text, category, brand, facets, limit, offset } = request
  const filters = [
    sql`active`,
    ...(category === undefined ? [] : [sql`category = ${category}`]),
    ...(brand === undefined ? [] : [sql`brand = ${brand}`]),
  ]
  const { rows } = await sql<{
    hits: Row[] | null
    total: number
    category: Record<string, number> | null
    brand: Record<string, number> | null
  }>`
    with found as materialized (
      select id, max(score) as score from (${candidates(sql.join(filters, sql` and `))}) as candidates group by id
    ), page as (
      select p.id::text, sku, name, description, category, brand, unit, price::text, currency, hs_code, origin_country,
        row_number() over (order by sku = ${text} desc, lower(sku) = lower(${text}) desc, sku_key = ${codeKey(text)} desc, score desc, times_quoted desc nulls last, name, p.id) as place
      from found join products p using (id) left join product_popularity on product_id = p.id
      order by place limit ${limit} offset ${offset}
    )
    select (select jsonb_agg(page order by place) from page) as hits,
      (select least(count(*), ${maxTotal})::int from found) as total,
      ${facets.includes('category') ? countsOf('category') : sql`null::jsonb`} as category,
      ${facets.includes('brand') ? countsOf('brand') : sql`null::jsonb`} as brand
  `.execute(db)
  const [row] = rows
  const typed = typedAs(text, replaceSizes(text).forms)
  return {
    hits: (row?.hits ?? []).map((hit) => toHit(hit, typed)),
    total: row?.total ?? 0,
    facets: Object.fromEntries(facets.map((name) => [name, row?.[name] ?? {}])) as Facets,
  }
}

function countsOf(name: 'category' | 'brand'): RawBuilder<unknown> {
  const column = sql.ref(name)
  return sql`(select jsonb_object_agg(value, count) from (
    select ${column} as value, count(*) from found join products using (id) where ${column} is not null group by 1 order by 2 desc, 1 limit 100
  ) as counts)`
}

type Row = Record<
  | 'description'
  | 'category'
  | 'brand'
  | 'unit'
  | 'price'
  | 'currency'
  | 'hs_code'
  | 'origin_country',
  string | null
> & {
  id: string
  sku: string
  name: string
}

function toHit(row: Row, typed: Typed): Hit {
  const {
    id,
    sku,
    name,
    description,
    category,
    brand,
    unit,
    price,
    currency,
    hs_code,
    origin_country,
  } = row
  const hit = {
    id,
    sku,
    name,
    description,
    category,
    brand,
    unit,
    price: price !== null && currency !== null ? toUnitPrice(price, currency) : null,
    hsCode: hs_code,
    originCountry: origin_country,
  }
  return { ...hit, highlights: plainHighlightsOf(hit, typed) }
}
