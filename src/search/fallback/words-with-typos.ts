// The query with which PostgreSQL finds products despite typos: by words that are similar to the
// typed ones and begin with the same letters.
import { sql } from 'kysely'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { stopWords } from '../../text/stop-words.ts'
import { oneTypoLetters } from '../../text/typos.ts'
import { maxCandidates, maxFiltered, minPrefixLength, type Sql } from './candidate-queries.ts'
import { foldTsQuery, toPrefixTerm } from './ts-query.ts'

/**
 * Only the second half of a word may contain typos, because the index finds beginnings of words.
 * With a lower share more products match: in a large catalogue more than `maxFiltered`, and the
 * best may not be read. docs/measurements.md compares it with other shares.
 */
const exactShare = 0.5

/**
 * Returns the query for products with words that are similar to the typed ones and begin with the
 * same letters, ranked by similarity. Null if no word may have a typo. Ignores words that are
 * shorter than `minPrefixLength`.
 */
export function buildSimilarWordQuery(
  { foldedWords }: ParsedQuery,
  productCondition: Sql,
): Sql | null {
  const words = foldedWords.filter((word) => !stopWords.has(word))
  const wordsWithPossibleTypos = words.filter(mayHaveTypo)
  if (wordsWithPossibleTypos.length === 0) return null
  const tsQuery = words
    .filter((word) => word.length >= minPrefixLength)
    .map((word) => toPrefixTerm(mayHaveTypo(word) ? beginningOf(word) : word))
    .join(' & ')
  const similarities = wordsWithPossibleTypos.map(
    (word) => sql`word_similarity(fold_text(${word}), search_text)`,
  )
  return sql`(
    with matching as materialized (
      select id, search_text from products
      where ${productCondition}
        and to_tsvector('simple', search_text) @@ ${foldTsQuery(tsQuery)}
      limit ${sql.lit(maxFiltered)}
    )
    select id,
      ((${sql.join(similarities, sql` + `)}) / ${sql.lit(similarities.length)})::real as score,
      (select count(*) from matching) >= ${sql.lit(maxFiltered)} as may_be_incomplete
    from matching order by score desc, id limit ${sql.lit(maxCandidates)}
  )`
}

function mayHaveTypo(word: string): boolean {
  return word.length >= oneTypoLetters && !/\d/.test(word)
}

function beginningOf(word: string): string {
  // By characters, because half of one that is two UTF-16 units is no letter.
  const letters = [...word]
  const count = Math.max(minPrefixLength, Math.ceil(letters.length * exactShare))
  return letters.slice(0, count).join('')
}
