// Searches in PostgreSQL while the engine is unavailable. The result has the same fields, but
// products are found and ranked in a simpler way. It finds codes, and products with all words or
// their prefixes. If there are none, it finds products with similar words. The cost does not depend
// on the number of products (candidate-queries.ts).
//
// Both searches, this one and that in the engine, must keep these promises. The tests check both:
//   an exact SKU is first, then other spellings   test/search/exact-sku-and-filters.test.ts
//   pinned products are next                      test/words/company-words.test.ts
//   parts of codes find the same products         test/search/code-keys.test.ts
//   a code allows no typo                         test/search/partial-codes.test.ts
//   filters, synonyms and hidden words            test/search/exact-sku-and-filters.test.ts,
//                                                 test/words/company-words.test.ts
//   every text is answered                        test/search/hostile-input.test.ts
// Everything else may differ: the order of products with the words, the products with only some of
// the words and their totals, names with ñ first, and translations. So a change of the ranking in
// relax.ts or of the rules of the engine needs no change here.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Pool } from 'pg'
import { runCancellableQuery } from '../../database/cancellable-query.ts'
import type { Tables } from '../../database/table-types.ts'
import { maxFacetValues, maxTotal } from '../../search-engine/result-limits.ts'
import { highlight } from '../highlights.ts'
import { ProductOrder } from '../order.ts'
import { type ProductRow, productColumns, toProduct } from '../product-rows.ts'
import {
  type FacetName,
  type Facets,
  facetNames,
  type Hit,
  type ParsedRequest,
  type SearchResult,
} from '../schema.ts'
import {
  buildEmptyTextQuery,
  buildMatchQuery,
  buildPinnedKeys,
  buildPinnedQuery,
  buildProductCondition,
  buildSkuKey,
  maxCandidates,
} from './candidate-queries.ts'
import { buildSimilarWordQuery } from './words-with-typos.ts'

/** Other spellings rank half a place after a pinned SKU, so they come before the next one. */
const otherSpellingDistance = 0.5

export type SearchDatabase = {
  /** Runs the searches, and nothing else. */
  pool: Pool
  /** The general pool. It runs the statement that cancels a search, and no search. */
  db: Kysely<Tables>
}

/**
 * Searches the table of products and returns the requested page of hits. If no product contains all
 * the words, returns those with similar words. Throws if PostgreSQL does not answer within its
 * statement limit, or the reason of `signal` when it aborts.
 */
export async function searchInPostgres(
  database: SearchDatabase,
  request: ParsedRequest,
  signal: AbortSignal,
): Promise<SearchResult> {
  const { query } = request
  const productCondition = buildProductCondition(request)
  const find = async (matches: RawBuilder<unknown>) => {
    const candidates =
      query.pinnedSkus.length === 0
        ? matches
        : sql`(${matches}) union all ${buildPinnedQuery(query, productCondition)}`
    const statement = buildPageStatement(request, candidates).compile(database.db)
    const [row] = await runCancellableQuery<SearchRow>(database, statement, signal)
    if (row === undefined) throw new Error('the statement of a search has returned no row')
    return row
  }
  if (query.text === '') return toResult(request, await find(buildEmptyTextQuery(productCondition)))
  const row = await find(buildMatchQuery(query, productCondition))
  // A code allows no typo, so similar products are no match for it.
  const shouldSearchSimilar = row.matching === 0 && !query.isOnlyCode
  const similarMatches = shouldSearchSimilar ? buildSimilarWordQuery(query, productCondition) : null
  return toResult(request, similarMatches ? await find(similarMatches) : row)
}

type SearchRow = {
  hits: ProductRow[] | null
  total: number
  /** The number of products that match the words, pinned or not. */
  matching: number
  /** Whether products may be missing from what was found. */
  may_be_incomplete: boolean
} & Record<FacetName, Record<string, number> | null>

function toResult({ query, facets }: ParsedRequest, row: SearchRow): SearchResult {
  const order = new ProductOrder(query)
  return {
    hits: (row.hits ?? []).map((product) => toHit(product, order)),
    total: Math.min(maxTotal, row.total),
    facets: Object.fromEntries(facets.map((name) => [name, row[name] ?? {}])) as Facets,
    facetsOmitted: facets.length > 0 && row.may_be_incomplete,
    corrected: [],
    ignored: null,
  }
}

/** Whether candidates may be missing, so that counts of them would be wrong. */
const mayBeIncompleteSql = sql`(
  select coalesce(bool_or(may_be_incomplete), false) or count(*) >= ${sql.lit(maxCandidates)}
  from found
)`

/** The columns of a hit. Numbers are texts, because a number in JSON loses digits. */
const hitColumnsSql = sql.join(
  productColumns.map((column) => {
    const value = sql.ref(`p.${column}`)
    return column === 'id' || column === 'price' ? sql`${value}::text` : value
  }),
)

/**
 * Returns the statement for the requested page, the totals and the facet counts. It orders the
 * candidates. A pinned SKU has its place in the list of pinned SKUs, and another spelling of it
 * `otherSpellingDistance` more. In the example of buildPinnedKeys, "B-½" has 1 and "ab 1" has 2.5.
 */
function buildPageStatement(
  { query, facets, limit, offset }: ParsedRequest,
  candidates: RawBuilder<unknown>,
): RawBuilder<SearchRow> {
  const { text, pinnedSkus } = query
  const counts = facetNames.map((name) => {
    const value = facets.includes(name) ? buildFacetCounts(name) : sql`null::jsonb`
    return sql`${value} as ${sql.ref(name)}`
  })
  // `count(score)` leaves out pinned products that match nothing else: their score is null.
  return sql<SearchRow>`
    with found as materialized (
      select id, max(score) as score, bool_or(may_be_incomplete) as may_be_incomplete
      from (${candidates}) as candidates
      group by id
    ), page as (
      select ${hitColumnsSql},
        row_number() over (order by
          normalize(sku, nfc) = ${text} desc,
          lower(normalize(sku, nfc)) = lower(${text}) desc,
          sku_key = ${buildSkuKey(text)} desc,
          coalesce(
            array_position(${pinnedSkus}::text[], sku),
            array_position(${buildPinnedKeys(query)}, sku_key)
              + ${sql.lit(otherSpellingDistance)}
          ),
          score desc nulls last,
          times_quoted desc nulls last,
          name,
          p.id
        ) as place
      from found join products p using (id) left join product_popularity on product_id = p.id
      order by place limit ${limit} offset ${offset}
    )
    select (select jsonb_agg(page order by place) from page) as hits,
      (select count(*)::int from found) as total,
      (select count(score)::int from found) as matching,
      ${mayBeIncompleteSql} as may_be_incomplete,
      ${sql.join(counts)}
  `
}

/**
 * Returns the SQL of the counts of a facet. Groups spellings that a filter treats as equal, and
 * reports each group under the spelling of the oldest product.
 */
function buildFacetCounts(name: FacetName): RawBuilder<unknown> {
  const column = sql.ref(name)
  return sql`(
    select jsonb_object_agg(value, count) from (
      select (array_agg(${column} order by id))[1] as value, count(*)
      from found join products using (id)
      where ${column} is not null and not ${mayBeIncompleteSql}
      group by filter_key(${column}) order by 2 desc, 1 limit ${sql.lit(maxFacetValues)}
    ) as counts
  )`
}

function toHit(row: ProductRow, order: ProductOrder): Hit {
  const product = toProduct(row)
  const { match } = order.score(product, 0)
  const highlights =
    match === 'exact' ? { sku: [[0, product.sku.length]] } : highlight(product, order)
  return { ...product, highlights, match }
}
