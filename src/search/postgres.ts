// Searches in PostgreSQL while no engine is available. It finds candidates by the same tokens as
// the engine, and orders them by the same rules (order.ts). Each query reads an index and returns a
// limited number of candidates, however many products there are.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Pool } from 'pg'
import { runCancellableQuery } from '../database/cancellable-query.ts'
import { fallbackStatementTimeout } from '../database/postgres-pool.ts'
import type { Tables } from '../database/table-types.ts'
import {
  type FacetName,
  facetNames,
  type ProductRow,
  shownColumns,
  toProduct,
} from '../products/fields.ts'
import { maxFacetValues, maxListed, untilAborted } from '../search-engine/client.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import { canBeginHsCode, mayShareSkuKey, toCodeKey } from '../text/sku-keys.ts'
import {
  buildRelaxedResult,
  buildResult,
  type FoundProduct,
  type Kind,
  kinds,
  mustRelax,
  rank,
} from './hits.ts'
import { ProductOrder } from './order.ts'
import { buildLookUp, buildTerms, type QueryTerms, type TokenTerms } from './postgres-words.ts'
import { listParts } from './relax.ts'
import type { Facets, ParsedRequest, SearchResult } from './schema.ts'

export type SearchDatabase = {
  /** Runs the searches, and nothing else. */
  pool: Pool
  /** The general pool. It runs the statement that cancels a search, and no search. */
  db: Kysely<Tables>
}

/** Corrections for the engine take some milliseconds, if nothing else runs. */
export const correctionTimeout = { ms: 60 }

type Sql = RawBuilder<unknown>

/** At most this many products with the words are read. More may have them. */
const maxRead = 3_000
/** A query for keys or parts of SKUs returns at most this many products. */
const maxCodeMatches = 200
/** So many of the first candidates are ordered here. Later ones keep the order of PostgreSQL. */
const orderedCandidates = 200
/** Of products that have only some of the words. */
const maxReadOfPart = 1_000
const maxOfPart = 60
const lookAlikes = ['o0', 'i1l', 's5']
const maxLookAlikes = 600
/** PostgreSQL reads so many entries of the index in some tenths of a second. */
const maxPostings = 300_000

const rankOf = (kind: Kind) => sql.lit(kinds.indexOf(kind))

type CandidateRow = ProductRow & { kind: number; place: number }
type PageRow = {
  candidates: CandidateRow[] | null
  total: number
  may_be_incomplete: boolean
} & Record<FacetName, Record<string, number> | null>

/**
 * Every search has an index. The planner must not read the table in the hope of finding enough
 * matches early, and must keep all matches of a frequent word in memory.
 */
const settings = () => `
  set local statement_timeout = ${fallbackStatementTimeout.ms}; set local enable_seqscan = off;
  set local work_mem = '32MB'; set local jit = off; set local max_parallel_workers_per_gather = 0`

const runSearch = <Row>(
  database: SearchDatabase,
  statement: RawBuilder<Row>,
  signal: AbortSignal,
) =>
  runCancellableQuery<Row>(
    { ...database, settings: settings() },
    statement.compile(database.db),
    signal,
  )

/**
 * Returns the requested page of hits. Throws if PostgreSQL does not answer within its statement
 * limit, or the reason of `signal` when it aborts.
 */
export async function searchInPostgres(
  database: SearchDatabase,
  request: ParsedRequest,
  signal: AbortSignal,
): Promise<SearchResult> {
  const { query } = request
  const run = <Row>(statement: RawBuilder<Row>) => runSearch(database, statement, signal)
  const words = query.tokens.length === 0 ? [] : await run(buildLookUp(query))
  const terms = buildTerms(query, words)
  const order = new ProductOrder(terms.query, terms.weights)
  const [page] = await run(buildPageStatement(request, terms))
  if (!page) throw new Error('the statement of a search has returned no row')
  const found = orderCandidates(page, order, query)
  if (!mustRelax(query, found)) return toPage(request, found, page, order)
  const kept = found.filter(({ kind, match }) => kind === 'pinned' || match !== 'some_words')
  const parts = listPartQueries(terms.tokens)
  const rows = await run(buildPartsStatement(request, parts))
  const ids = new Set(kept.map(({ product }) => product.id))
  const products = [...found.map(({ product }) => product), ...rows.map(toProduct)]
  const others = [...new Map(products.map((product) => [product.id, product])).values()]
    .filter(({ id }) => !ids.has(id))
    .map((product) => ({ ...order.score(product, null), kind: 'words' as const }))
    .filter(({ held }) => held > 0)
    .toSorted((a, b) => b.score - a.score || a.product.name.length - b.product.name.length)
  return buildRelaxedResult(request, [...kept, ...others], order)
}

/**
 * Returns the query with corrections of the words that no product has. Throws a TimeoutError if
 * PostgreSQL does not answer at once.
 */
export async function correctInPostgres(
  database: SearchDatabase,
  query: ParsedQuery,
  signal: AbortSignal,
): Promise<ParsedQuery> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(correctionTimeout.ms)])
  // A wait for a connection does not end when the signal aborts.
  const rows = await Promise.race([
    runSearch(database, buildLookUp(query), limit),
    untilAborted(limit),
  ])
  return buildTerms(query, rows).query
}

/** Orders the first candidates. Returns the later ones in their place. */
function orderCandidates(page: PageRow, order: ProductOrder, query: ParsedQuery): FoundProduct[] {
  const key = query.partialCodeKey === undefined ? undefined : toCodeKey(query.text)
  const found = (page.candidates ?? []).map((row) => {
    const scored = order.score(toProduct(row), null)
    let kind: Kind = kinds[row.kind] ?? 'words'
    // Its SKU has the numbers of a size, but not as a size.
    const isNumber = kind === 'words' && scored.match === 'some_words' && key !== undefined
    if (isNumber && toCodeKey(scored.product.sku).includes(key)) kind = 'number'
    return { ...scored, kind, place: row.place }
  })
  if (query.text === '') return found
  const first = found.filter(({ place }) => place <= orderedCandidates)
  const later = found.filter(({ place }) => place > orderedCandidates)
  return [
    ...first.toSorted(
      (a, b) =>
        kinds.indexOf(a.kind) - kinds.indexOf(b.kind) ||
        rank(a, query) - rank(b, query) ||
        a.place - b.place,
    ),
    ...later,
  ]
}

function toPage(
  request: ParsedRequest,
  found: FoundProduct[],
  page: PageRow,
  order: ProductOrder,
): SearchResult {
  const { query, facets } = request
  // Some candidates of one kind only have all numbers of a size, and not the size.
  const isWhole = ({ kind, match }: FoundProduct) =>
    kind !== 'words' || match !== 'some_words' || query.text === ''
  const kept = page.total > orderedCandidates ? found : found.filter(isWhole)
  // Besides the first candidates, only those of this page are known.
  const offset = Math.min(request.offset, orderedCandidates)
  return buildResult({ ...request, offset }, kept, order, {
    total: kept === found ? page.total : kept.length,
    facets: Object.fromEntries(facets.map((name) => [name, page[name] ?? {}])) as Facets,
    facetsOmitted: facets.length > 0 && page.may_be_incomplete,
  })
}

/** What a request requires of every product: active, and with the values of its filters. */
function buildProductCondition(request: ParsedRequest): Sql {
  const filters = facetNames.flatMap((name) => {
    const value = request[name]
    return value === undefined ? [] : [sql`filter_key(${sql.ref(name)}) = filter_key(${value})`]
  })
  return sql.join([sql`active`, ...filters], sql` and `)
}

/** Returns a query for candidates of a kind: at most `limit` of those that meet the condition. */
function selectCandidates(kind: Kind, condition: Sql, limit: number): Sql {
  return sql`(
    select id, ${rankOf(kind)} as kind, true as is_close,
      count(*) over () >= ${sql.lit(limit)} as may_be_incomplete
    from (select id from products where ${condition} limit ${sql.lit(limit)}) as limited
  )`
}

/** Of more SKUs with one key than are read, these are read and come first in any case. */
function listSpellings({ text }: ParsedQuery): string[] {
  return [text, text.normalize('NFD'), text.toUpperCase()]
}

function listCandidateQueries(request: ParsedRequest, { tokens }: QueryTerms): Sql[] {
  const { query } = request
  const condition = buildProductCondition(request)
  if (query.text === '')
    return [
      sql`(
        select id, ${rankOf('words')} as kind, true as is_close, false as may_be_incomplete
        from products join product_popularity on product_id = id
        where rank is not null and ${condition}
      )`,
      sql`(
        select id, ${rankOf('words')}, true, false from products
        where ${condition} order by name, id limit ${sql.lit(maxListed)}
      )`,
    ]
  const keys = [...query.skuKeys, ...query.orderLines.flat().flatMap((guess) => guess.keys)]
  const spellings = listSpellings(query)
  const queries = [
    selectCandidates(
      'exact',
      sql`${condition} and sku = any (${spellings}::text[])`,
      spellings.length,
    ),
    selectCandidates(
      'exact',
      sql`${condition} and sku_key = any (${keys}::text[] || code_key(${query.text}))`,
      maxCodeMatches,
    ),
  ]
  const { partialCodeKey, pinnedSkus } = query
  const key = partialCodeKey === undefined ? undefined : toCodeKey(query.text)
  if (pinnedSkus.length > 0) {
    // Many SKUs may have the key of "B-½". They are not pinned if one has exactly the pinned SKU.
    const pinned = sql`(sku = any (${pinnedSkus}::text[]) or sku_key = any (array(
      select code_key(pin) from unnest(
        ${pinnedSkus}::text[], ${pinnedSkus.map(mayShareSkuKey)}::boolean[]
      ) as pins (pin, may_share_key)
      where not (may_share_key and exists (select from products where sku = pin))
    )))`
    queries.push(selectCandidates('pinned', sql`${condition} and ${pinned}`, maxCodeMatches))
  }
  if (key !== undefined) {
    const kind = query.isAmount ? 'number' : 'partialCode'
    // The key has letters and digits only, so nothing in it is a wildcard.
    queries.push(
      selectCandidates(
        kind,
        sql`${condition} and sku_key like '%' || code_key(${key}) || '%'`,
        maxCodeMatches,
      ),
    )
    if (canBeginHsCode(key))
      queries.push(
        selectCandidates(kind, sql`${condition} and hs_code like ${`${key}%`}`, maxCodeMatches),
      )
  }
  const known = tokens.filter((terms) => terms !== null)
  if (known.length === 0 || known.length < tokens.length) return queries
  const strict = known.map((terms) => terms.strict).join(' & ')
  const loose = known.map((terms) => terms.loose).join(' & ')
  const search = (text: string, isClose: boolean) => sql`(
    select id, ${rankOf('words')}, ${sql.lit(isClose)}, count(*) over () >= ${sql.lit(maxRead)}
    from (
      select id from products where ${condition} and search_document @@ ${text}::tsquery
      limit ${sql.lit(maxRead)}
    ) as limited
  )`
  queries.push(search(strict, true))
  if (loose !== strict) queries.push(search(loose, false))
  return queries
}

/** The columns of a hit. Numbers are texts, because a number in JSON loses digits. */
const productColumnsSql = sql.join(
  shownColumns.map((column) => {
    const value = sql.ref(`p.${column}`)
    return column === 'id' || column === 'price' ? sql`${value}::text as ${sql.ref(column)}` : value
  }),
)

/**
 * Returns the statement for the candidates that are ordered here, those of the requested page, the
 * total and the facet counts. Of products with the words, those come first that have them in their
 * names, and then shorter names.
 */
function buildPageStatement(request: ParsedRequest, terms: QueryTerms): RawBuilder<PageRow> {
  const { facets, limit, offset, query } = request
  const counts = facetNames.map((name) => {
    const value = facets.includes(name) ? buildFacetCounts(name) : sql`null::jsonb`
    return sql`${value} as ${sql.ref(name)}`
  })
  const inName = terms.tokens
    .filter((token) => token !== null)
    .map((token) => token.loose.replace(/'(:\*)?(?= |\)|$)/g, "'$1:A").replaceAll(':*:A', ':*A'))
    .join(' & ')
  const isInName = inName === '' ? sql`true` : sql`search_document @@ ${inName}::tsquery`
  const byRelevance =
    query.text === ''
      ? sql`rank nulls last, name`
      : sql`sku = any (${listSpellings(query)}::text[]) desc, is_close desc, ${isInName} desc,
          length(name), times_quoted desc nulls last`
  const queries = sql.join(listCandidateQueries(request, terms), sql` union all `)
  return sql<PageRow>`
    with found as materialized (
      select id, min(kind) as kind, bool_or(is_close) as is_close,
        bool_or(may_be_incomplete) as may_be_incomplete
      from (${queries}) as candidates group by id
    ), ordered as materialized (
      select found.id, kind,
        row_number() over (order by kind, ${byRelevance}, found.id)::int as place
      from found join products using (id) left join product_popularity on product_id = id
      order by place limit ${sql.lit(maxListed)}
    ), page as (
      select ${productColumnsSql}, kind, place from ordered join products p using (id)
      where place <= ${sql.lit(orderedCandidates)}
        or place between ${offset + 1} and ${offset + limit}
    )
    select (select jsonb_agg(page order by place) from page) as candidates,
      (select count(*)::int from found) as total,
      ${mayBeIncompleteSql} as may_be_incomplete,
      ${sql.join(counts)}
  `
}

/** Whether candidates may be missing, so that counts of them would be wrong. */
const mayBeIncompleteSql = sql`(
  select coalesce(bool_or(may_be_incomplete), false) or count(*) >= ${sql.lit(maxListed)} from found
)`

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

/**
 * Returns queries for products that have most of the tokens. The index is read for the rarest token
 * of each, so the sum of these is limited.
 */
function listPartQueries(tokens: (TokenTerms | null)[]): string[] {
  const known = tokens.filter((terms) => terms !== null).toSorted((a, b) => a.postings - b.postings)
  let read = 0
  const parts = listParts(known).filter(([rarest], index) => {
    read += rarest?.postings ?? 0
    return index === 0 || read <= maxPostings
  })
  return parts.map((part) => part.map(({ loose }) => loose).join(' & '))
}

/** The parts, and the only SKU that looks like the query: with O for 0, I for 1 or S for 5. */
function buildPartsStatement(request: ParsedRequest, parts: string[]): RawBuilder<ProductRow> {
  const condition = buildProductCondition(request)
  const { text, partialCodeKey } = request.query
  const alike = partialCodeKey === undefined ? [] : listLookAlikes(toCodeKey(text))
  return sql<ProductRow>`
    select ${productColumnsSql} from products p where id in (
      select id from unnest(${parts}::text[]) as part cross join lateral (
        select id from (
          select id, name from products
          where ${condition} and search_document @@ part::tsquery
          limit ${sql.lit(maxReadOfPart)}
        ) as limited
        order by length(name), id limit ${sql.lit(maxOfPart)}
      ) as found
      union all
      select min(id) from products where ${condition} and sku_key = any (${alike}::text[])
      having count(*) = 1
    )
  `
}

/** Returns the ways to write a key with letters and digits that look alike. */
function listLookAlikes(key: string): string[] {
  let keys = ['']
  for (const character of key) {
    const others = lookAlikes.find((letters) => letters.includes(character)) ?? character
    const mayVary = keys.length * others.length <= maxLookAlikes
    keys = keys.flatMap((own) => [...(mayVary ? others : character)].map((other) => own + other))
  }
  return keys
}
