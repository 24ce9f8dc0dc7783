// Searches in PostgreSQL while the engine is unavailable. The answer has the same shape and simpler
// relevance: products with all words or their prefixes, else the nearest by trigrams.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import { maxFacetValues, maxListed, maxTotal } from '../search-engine/result-limits.ts'
import { replaceSizes } from '../text/sizes-with-units.ts'
import { canBeginHsCode, isSeparatedCode, toCodeKey } from '../text/sku-and-hs-codes.ts'
import { type HighlightTerms, highlightByComparison, toHighlightTerms } from './highlights.ts'
import type { Facets, Hit, SearchRequest, SearchResult } from './schema.ts'

/** Only this many matches are ranked. Ranking every match of "c" or "de" is too expensive. */
const maxRanked = 2_000
/** At most this many similar products are returned if no product contains all the words. */
const maxNearest = 100
/**
 * The largest trigram distance (1 - word_similarity) of a similar product. PostgreSQL's default is
 * 0.4. A little more finds short words with a typo.
 */
const maxDistance = 0.45
/** Shorter codes match whole SKUs only. */
const minPartialCodeLength = 3

/**
 * Searches the table of products and returns the requested page of hits. If no product contains all
 * the words, returns the most similar ones. Throws if PostgreSQL does not answer.
 */
export async function searchInPostgres(
  db: Kysely<Tables>,
  request: SearchRequest,
): Promise<SearchResult> {
  const { text, facets } = request
  if (text === '') return runSearch(db, request, allProducts(facets.length > 0))
  const result = await runSearch(db, request, productsWithAllWords(text))
  // A code allows no typo, so similar products are no match for it.
  if (result.total > 0 || isSeparatedCode(text)) return result
  return runSearch(db, request, nearestProducts(text))
}

/**
 * Builds a query for the ids and scores of matching products, highest score first. `isVisible` is
 * the condition of the request: active, in the category, of the brand.
 */
type CandidateQuery = (isVisible: RawBuilder<unknown>) => RawBuilder<unknown>

/** Facet counts need every product. Pages need only the most quoted ones and the first by name. */
function allProducts(needsEveryProduct: boolean): CandidateQuery {
  if (needsEveryProduct)
    return (isVisible) => sql`select id, 0::real as score from products where ${isVisible}`
  return (isVisible) => sql`
    select id, 0::real as score
    from products join product_popularity on product_id = id
    where ${isVisible}
    union (
      select id, 0::real from products where ${isVisible} order by name, id limit ${maxListed}
    )`
}

/** Ranks codes first, then words by the position of the first word in a product's text. */
function productsWithAllWords(text: string): CandidateQuery {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? []
  // Words have letters and digits only, so none of them is an operator.
  const query = words.map((word) => `'${word}':*`).join(' & ')
  const [firstWord = ''] = words
  return (isVisible) => sql`(
      select id, -strpos(search_text, fold_text(${firstWord}))::real as score
      from products
      where ${isVisible}
        and to_tsvector('simple', search_text) @@ to_tsquery('simple', fold_text(${query}))
      limit ${maxRanked}
    ) union (
      select id, 1::real from products where ${isVisible} and ${hasCode(text)} limit ${maxRanked}
    )`
}

/** Matches any part of a SKU, or the beginning of an HS code. */
function hasCode(text: string): RawBuilder<unknown> {
  // The key has letters and digits only, so nothing in it is a wildcard.
  const key = toCodeKey(text)
  if (key.length < minPartialCodeLength) return sql`sku_key = ${key}`
  const isInSku = sql`sku_key like ${`%${key}%`}`
  return canBeginHsCode(key) ? sql`(${isInSku} or hs_code like ${`${key}%`})` : isInSku
}

function nearestProducts(text: string): CandidateQuery {
  return (isVisible) => sql`
    select id, -distance::real as score from (
      select id, fold_text(${text}) <<-> search_text as distance
      from products
      where ${isVisible}
      order by fold_text(${text}) <<-> search_text
      limit ${maxNearest}
    ) as nearest
    where distance <= ${maxDistance}`
}

async function runSearch(
  db: Kysely<Tables>,
  request: SearchRequest,
  candidateQuery: CandidateQuery,
): Promise<SearchResult> {
  const { text, category, brand, facets, limit, offset } = request
  const conditions = [
    sql`active`,
    ...(category === undefined ? [] : [sql`category = ${category}`]),
    ...(brand === undefined ? [] : [sql`brand = ${brand}`]),
  ]
  const { rows } = await sql<{
    hits: ProductRow[] | null
    total: number
    category: Record<string, number> | null
    brand: Record<string, number> | null
  }>`
    with found as materialized (
      select id, max(score) as score
      from (${candidateQuery(sql.join(conditions, sql` and `))}) as candidates
      group by id
    ), page as (
      select p.id::text, sku, name, description, category, brand, unit, price::text, currency,
        hs_code, origin_country,
        row_number() over (order by
          sku = ${text} desc,
          lower(sku) = lower(${text}) desc,
          sku_key = ${toCodeKey(text)} desc,
          score desc,
          times_quoted desc nulls last,
          name,
          p.id
        ) as place
      from found join products p using (id) left join product_popularity on product_id = p.id
      order by place limit ${limit} offset ${offset}
    )
    select (select jsonb_agg(page order by place) from page) as hits,
      (select least(count(*), ${maxTotal})::int from found) as total,
      ${facets.includes('category') ? facetCounts('category') : sql`null::jsonb`} as category,
      ${facets.includes('brand') ? facetCounts('brand') : sql`null::jsonb`} as brand
  `.execute(db)
  const [row] = rows
  const terms = toHighlightTerms(text, replaceSizes(text).forms)
  return {
    hits: (row?.hits ?? []).map((product) => toHit(product, terms)),
    total: row?.total ?? 0,
    facets: Object.fromEntries(facets.map((name) => [name, row?.[name] ?? {}])) as Facets,
  }
}

function facetCounts(name: 'category' | 'brand'): RawBuilder<unknown> {
  const column = sql.ref(name)
  return sql`(
    select jsonb_object_agg(value, count) from (
      select ${column} as value, count(*)
      from found join products using (id)
      where ${column} is not null
      group by 1 order by 2 desc, 1 limit ${sql.lit(maxFacetValues)}
    ) as counts
  )`
}

type ProductRow = {
  id: string
  sku: string
  name: string
  description: string | null
  category: string | null
  brand: string | null
  unit: string | null
  price: string | null
  currency: string | null
  hs_code: string | null
  origin_country: string | null
}

function toHit(row: ProductRow, terms: HighlightTerms): Hit {
  const { id, sku, name, description, category, brand, unit, price, currency } = row
  const product = {
    id,
    sku,
    name,
    description,
    category,
    brand,
    unit,
    price: price !== null && currency !== null ? toUnitPrice(price, currency) : null,
    hsCode: row.hs_code,
    originCountry: row.origin_country,
  }
  return { ...product, highlights: highlightByComparison(product, terms) }
}
