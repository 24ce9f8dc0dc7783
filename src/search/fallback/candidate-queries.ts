// The queries with which PostgreSQL finds products. Each reads an index and returns a limited
// number of candidates, however many products there are.
//
// A query contains limits. If one of them was reached, products may be missing. Then
// `may_be_incomplete` is true in all rows of the query. search-in-postgres.ts also checks whether
// all queries together have found as many candidates as they may.
//
// Candidates with a higher score rank first. A candidate found by several queries keeps its highest
// score.
//   empty query   0
//   code, name    2 for the whole SKU (AB-742), 1 for a part of a code (742), 0 for the beginning
//                 of a name (a query of one or two letters, or of one stop word)
//   all words     -1, -2 and so on: where the text of the product first has the letters of the
//                 ranking word, even inside another word. So "martillo" ranks "Martillo de bola"
//                 (-1) before "Mango de martillo" (-10)
//   synonyms      -1000000 (afterEveryWord): all words, but only a synonym of the ranking word, and
//                 its letters nowhere in the text
//   similar       0 to 1: how similar the words are. Looked up only if nothing else matches
//                 (words-with-typos.ts)
// A pinned product has no score, because it need not match.
// The ranking word is the first typed word that is neither a stop word nor too short
// (buildWordQueries). If all are, it is the first typed word.
// The spelling of the SKU and pinned products come before the scores (buildPageStatement in
// search-in-postgres.ts).
import { type RawBuilder, sql } from 'kysely'
import { maxListed } from '../../search-engine/result-limits.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { canBeginHsCode, canBePartOfCode, mayShareSkuKey, toCodeKey } from '../../text/sku-keys.ts'
import { stopWords } from '../../text/stop-words.ts'
import type { SynonymMap } from '../../words/synonym-map.ts'
import { facetNames, type ParsedRequest } from '../schema.ts'
import { checkWord, foldTsQuery, toPrefixTerm, toTsQuery, toWordTerm } from './ts-query.ts'

/**
 * At most this many products are ranked and counted. If more contain all the words, these are the
 * products with the highest scores.
 */
export const maxCandidates = maxListed
/** A query for SKU keys, or for parts of codes, returns at most this many products. */
const maxCodeMatches = 200
/** Too many words begin with a shorter word, so it is not looked up as a prefix. */
export const minPrefixLength = 3
/**
 * At most this many products with the words, or with their beginnings, are read. Short words and
 * similar words are looked up in these. If more products have the words, it is not defined which of
 * them are read. Of five million products, hundreds of thousands may contain a frequent word.
 */
export const maxFiltered = 5_000

const exactSkuScore = sql.lit(2)
const partialCodeScore = sql.lit(1)
const nameBeginningScore = sql.lit(0)
/** A position after that of every letter in the text of a product. */
const afterEveryWord = 1_000_000

/** An SQL fragment: a condition, or a query for candidates (id, score, may_be_incomplete). */
export type Sql = RawBuilder<unknown>

/**
 * Returns a query for candidates: at most `limit` of those that `query` finds. `query` is a query
 * for ids and scores.
 */
function limitCandidates(query: Sql, limit: number): Sql {
  return sql`(
    select id, score, count(*) over () >= ${sql.lit(limit)} as may_be_incomplete
    from (${query} limit ${sql.lit(limit)}) as limited
  )`
}

/** What a request requires of every product: active, in the category, of the brand. */
export function buildProductCondition(request: ParsedRequest): Sql {
  const filters = facetNames.flatMap((name) => {
    const value = request[name]
    return value === undefined ? [] : [sql`filter_key(${sql.ref(name)}) = filter_key(${value})`]
  })
  return sql.join([sql`active`, ...filters], sql` and `)
}

/** For an empty query: the products quoted most often, and the first ones by name. */
export function buildEmptyTextQuery(productCondition: Sql): Sql {
  const firstByName = sql`
    select id, 0::real as score from products where ${productCondition} order by name, id`
  return sql`(
    select id, 0::real as score, false as may_be_incomplete
    from products join product_popularity on product_id = id
    where rank is not null and ${productCondition}
  ) union all ${limitCandidates(firstByName, maxCandidates)}`
}

/**
 * The products that the company puts first. They have no score, so they do not count as matches.
 */
export function buildPinnedQuery(query: ParsedQuery, productCondition: Sql): Sql {
  const withPinnedKey = sql`
    select id, null::real as score from products
    where ${productCondition} and sku_key = any (${buildPinnedKeys(query)})`
  return sql`(
    select id, null::real as score, false as may_be_incomplete from products
    where ${productCondition} and sku = any (${query.pinnedSkus}::text[])
  ) union all ${limitCandidates(withPinnedKey, maxCodeMatches)}`
}

/**
 * Returns the SQL of the key of a SKU (toSkuKey), as PostgreSQL computes it for `sku_key`. The key
 * in the search engine may differ for letters of a newer Unicode version, which only one of the two
 * knows.
 */
export function buildSkuKey(text: string): Sql {
  return sql`code_key(${text})`
}

/**
 * Returns the SQL of an array: the keys of the pinned SKUs, in their order. A key is null if many
 * SKUs may have it and a product has exactly this SKU. Otherwise all products that share the key
 * would be pinned.
 *
 * For example, the company pins "B-½" and "AB-1", and there are the products "B-½", "B-¾" and
 * "ab 1". The keys are null and "ab1". The order is "B-½", "ab 1". "B-¾" is not pinned, though it
 * has the key "b" too.
 */
export function buildPinnedKeys({ pinnedSkus }: ParsedQuery): Sql {
  return sql`array(
    select case
      when may_share_key and exists (select from products where sku = pinned) then null
      else code_key(pinned)
    end
    from unnest(
      ${pinnedSkus}::text[],
      ${pinnedSkus.map(mayShareSkuKey)}::boolean[]
    ) with ordinality as p (pinned, may_share_key, place)
    order by place
  )`
}

/**
 * Products with exactly this SKU, except for case and separators. Many SKUs may have the same key,
 * and not all of them are read. So the SKU as typed is also looked up alone.
 */
function buildSkuQueries({ text }: ParsedQuery, productCondition: Sql): Sql[] {
  return [
    sql`(
      select id, ${exactSkuScore}::real as score, false as may_be_incomplete from products
      where ${productCondition} and sku in (${text}, ${text.normalize('NFD')})
    )`,
    limitCandidates(
      sql`
        select id, ${exactSkuScore}::real as score from products
        where ${productCondition} and sku_key = ${buildSkuKey(text)}`,
      maxCodeMatches,
    ),
  ]
}

/**
 * Products whose SKU contains the text, or whose HS code begins with it. If the text cannot be part
 * of a code, the SKU must begin with it.
 */
function buildPartialCodeQueries({ text }: ParsedQuery, productCondition: Sql): Sql[] {
  const key = toCodeKey(text)
  if (key === '') return []
  const conditions = [
    // `key` has letters and digits only, so nothing in it is a wildcard. The SKU key of the text
    // may have signs: if PostgreSQL does not know its letters, the whole text is its key.
    sql`sku_key like ${canBePartOfCode(key) ? '%' : ''} || ${buildSkuKey(key)} || '%'`,
    ...(canBeginHsCode(key) ? [sql`hs_code like ${`${key}%`}`] : []),
  ]
  return conditions.map((condition) =>
    limitCandidates(
      sql`
        select id, ${partialCodeScore}::real as score
        from products where ${productCondition} and ${condition}`,
      maxCodeMatches,
    ),
  )
}

/**
 * Products with all the words, their prefixes or synonyms, ranked by where the ranking word is.
 *
 * A word of one or two letters is looked up, as a whole word, only if it is in a phrase that has
 * synonyms. The phrase may be this word alone. Any other such word is too short: it only narrows
 * down the products that the other words find.
 */
function buildWordQueries(
  { foldedWords: words, synonyms }: ParsedQuery,
  productCondition: Sql,
): Sql[] {
  if (words.length === 0) return []
  const wordsOfSynonymPhrases = new Set([...synonyms.keys()].flatMap((phrase) => phrase.split(' ')))
  const isTooShort = (word: string) =>
    word.length < minPrefixLength && !wordsOfSynonymPhrases.has(word)
  const significant = words.filter((word) => !stopWords.has(word))
  const rankingWord = significant.find((word) => !isTooShort(word))
  if (rankingWord === undefined) return buildShortWordQueries(words, synonyms, productCondition)
  const toTerm = (word: string) => {
    if (stopWords.has(word) || isTooShort(word)) return undefined
    return word.length < minPrefixLength ? toWordTerm(word) : toPrefixTerm(word)
  }
  const terms = toTsQuery(words, synonyms, toTerm)
  return [buildTermsQuery(terms, rankingWord, significant.filter(isTooShort), productCondition)]
}

/** For a query of short words and stop words only. They are looked up as typed, not as prefixes. */
function buildShortWordQueries(
  words: string[],
  synonyms: SynonymMap,
  productCondition: Sql,
): Sql[] {
  const [firstWord = ''] = words
  const terms = toTsQuery(words, synonyms, toWordTerm)
  const names = words.length === 1 ? buildNameQueries(firstWord, productCondition) : []
  return [buildTermsQuery(terms, firstWord, [], productCondition), ...names]
}

/**
 * Products with the terms of a tsquery, and with words that begin with the short words. Products
 * with the ranking word rank before those with only a synonym of it.
 */
function buildTermsQuery(
  terms: string,
  rankingWord: string,
  shortWords: string[],
  productCondition: Sql,
): Sql {
  const shortWordConditions = shortWords.map(
    (word) => sql`search_text ~ fold_text(${`\\m${checkWord(word)}`})`,
  )
  return sql`(
    with matching as materialized (
      select id, search_text from products
      where ${productCondition}
        and to_tsvector('simple', search_text) @@ ${foldTsQuery(terms)}
      limit ${sql.lit(maxFiltered)}
    )
    select id,
      -coalesce(
        nullif(strpos(search_text, fold_text(${rankingWord})), 0), ${sql.lit(afterEveryWord)}
      )::real as score,
      (select count(*) from matching) >= ${sql.lit(maxFiltered)} as may_be_incomplete
    from matching
    where ${sql.join([sql`true`, ...shortWordConditions], sql` and `)}
    order by score desc, id limit ${sql.lit(maxCandidates)}
  )`
}

/**
 * Names that begin with a text that is too short to be looked up as a word. A database that
 * compares by code points (C, C.UTF-8) finds exactly these. A linguistic collation (ICU) also finds
 * the other case and other accents of the letters, and such names match too. The query has no
 * `collate "C"`, because the index products_name has the collation of the database.
 */
function buildNameQueries(text: string, productCondition: Sql): Sql[] {
  const prefixes = [text, text.toUpperCase(), `${text.charAt(0).toUpperCase()}${text.slice(1)}`]
  return [...new Set(prefixes)].map((prefix) =>
    limitCandidates(
      sql`
        select id, ${nameBeginningScore}::real as score from products
        where ${productCondition} and name >= ${prefix} and name < ${`${prefix}\u{10ffff}`}
        order by name, id`,
      maxCandidates,
    ),
  )
}

/** Returns the query for codes and for products with all the words. */
export function buildMatchQuery(query: ParsedQuery, productCondition: Sql): Sql {
  const queries = [buildSkuQueries, buildPartialCodeQueries, buildWordQueries].flatMap((build) =>
    build(query, productCondition),
  )
  return sql.join(queries, sql` union all `)
}
