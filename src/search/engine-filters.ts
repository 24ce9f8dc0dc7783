// The texts and filters with which the engine finds what a query asks for.
import { facetNames } from '../products/fields.ts'
import type { ParsedQuery, QueryToken } from '../text/parse-query.ts'
import {
  canBeginHsCode,
  canBePartOfCode,
  mayShareSkuKey,
  toCodeKey,
  toSkuKey,
} from '../text/sku-keys.ts'
import type { SearchRequest } from './schema.ts'

/** The engine reads the first ten words of a query. */
export const maxEngineWords = 10
/** Returns the text for the engine. Of more than ten words it has the ten longest. */
export function toEngineText(words: QueryToken[]): string {
  const longest = words.toSorted((a, b) => b.text.length - a.text.length).slice(0, maxEngineWords)
  return words
    .filter((word) => longest.includes(word))
    .map(({ text }) => text)
    .join(' ')
}

/** Returns the engine filters for the category and the other facets of a request. */
export function toEngineFilters(request: SearchRequest): string[] {
  return facetNames.flatMap((name) => {
    const value = request[name]
    return value === undefined ? [] : [`${name} = ${quoteFilterValue(value)}`]
  })
}

/** Returns the condition that a product has a code of the query. */
export function toCodeCondition(
  { kind, keys, looseKeys, isLast }: QueryToken,
  mayBePrefix: boolean,
): string {
  const operator = mayBePrefix && isLast ? 'STARTS WITH' : '='
  const conditions = keys.map((key) => `codes ${operator} ${quoteFilterValue(key)}`)
  for (const key of looseKeys) conditions.push(`codes = ${quoteFilterValue(key)}`)
  const code = toCodeKey(keys[0] ?? '')
  // A size without its signs would be another number.
  if (kind !== 'size' && canBePartOfCode(code))
    conditions.push(`skuForms ${operator} ${quoteFilterValue(code)}`)
  return `(${conditions.join(' OR ')})`
}

export function toExactCondition({ skuKeys, orderLines }: ParsedQuery): string {
  const keys = [...skuKeys, ...orderLines.flat().flatMap((guess) => guess.keys)]
  const list = [...new Set(keys)].map(quoteFilterValue).join(', ')
  return `skuKeys IN [${list}]`
}

export function toPinnedCondition(pinnedSkus: readonly string[]): string {
  const conditions = pinnedSkus.map((sku) =>
    mayShareSkuKey(sku)
      ? `sku = ${quoteFilterValue(sku)}`
      : `skuKeys = ${quoteFilterValue(toSkuKey(sku))}`,
  )
  return `(${conditions.join(' OR ')})`
}

/** `skuForms` has the key of the SKU and its endings, so any part of a SKU begins one of them. */
export function toPartialCondition({ partialCodeKey, tokens }: ParsedQuery): string | null {
  if (partialCodeKey === undefined || tokens.length === 0) return null
  const fields = ['skuForms', ...(canBeginHsCode(partialCodeKey) ? ['hsCode'] : [])]
  const value = quoteFilterValue(partialCodeKey)
  return `(${fields.map((field) => `${field} STARTS WITH ${value}`).join(' OR ')})`
}

/**
 * The SKU itself begins with the part of a code. Such products come before those with it inside.
 */
export function toBeginningCondition({ partialCodeKey = '' }: ParsedQuery): string {
  return `skuKeys STARTS WITH ${quoteFilterValue(partialCodeKey)}`
}

/** Quotes a value so that nothing in it is read as part of the filter. */
export function quoteFilterValue(value: string): string {
  return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
}
