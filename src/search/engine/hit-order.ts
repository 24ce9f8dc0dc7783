// Decides which hits come first: products with exactly the typed SKU, then those that the company
// pins to the query, then other products with the typed code, then names with ñ if ñ was typed,
// then all others by relevance.
import type { EngineHit } from '../../search-engine/search-client.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { canBeginHsCode, toDistinctSkuKey, toSkuKey } from '../../text/sku-and-hs-codes.ts'
import type { ParsedRequest, SearchRequest } from '../schema.ts'

/**
 * What selects the products of a part of the hits:
 * - `exact-sku`: the SKU equals the query, except for case and separators (its key). If many SKUs
 *   may have the same key, there are two parts with this rule: first the SKUs that also match in
 *   signs, then all others with the same key.
 * - `pinned`: the company puts the SKU first for this query. Case and separators do not matter.
 * - `partial-code`: a SKU contains the query, or an HS code begins with it, except for separators.
 * - `enye-names`: the name has every typed word with ñ, and matches the words.
 * - `words`: the remaining products that match the words.
 */
export type PartRule = 'exact-sku' | 'pinned' | 'partial-code' | 'enye-names' | 'words'

/** The products of a part match all of these filters of the engine. */
export type HitPart = { rule: PartRule; filter: string[] }

/** The service orders at most this many products with the same SKU key by their spelling. */
export const maxOrderedSkus = 200

/** Returns the parts in the order in which they are shown. Each excludes the parts before it. */
export function splitIntoParts(request: ParsedRequest): HitPart[] {
  const parts: HitPart[] = []
  let remaining = toEngineFilters(request)
  for (const { rule, condition } of partConditions(request.query)) {
    parts.push({ rule, filter: [...remaining, condition] })
    remaining = [...remaining, `NOT (${condition})`]
  }
  // The engine would treat a text without words as an empty query, which matches everything.
  if (request.query.hasNoWords) return parts
  return [...parts, { rule: 'words', filter: remaining }]
}

/** Returns the engine filters for the category and brand of a request. */
export function toEngineFilters({ category, brand }: SearchRequest): string[] {
  return [
    ...(category === undefined ? [] : [`category = ${quoteFilterValue(category)}`]),
    ...(brand === undefined ? [] : [`brand = ${quoteFilterValue(brand)}`]),
  ]
}

/** Whether the words of the query select the products of a part. */
export function usesWords(rule: PartRule): boolean {
  return rule === 'words' || rule === 'enye-names'
}

/**
 * Orders products whose SKUs equal the query except for case and separators: first those spelled as
 * typed, then those that differ in case only, then those that differ in separators.
 */
export function putExactSpellingFirst(hits: EngineHit[], typed: string): EngineHit[] {
  const lowerCaseTyped = typed.toLowerCase()
  const similarity = ({ sku }: EngineHit) => {
    const normalized = sku.normalize('NFC')
    if (normalized === typed) return 2
    return normalized.toLowerCase() === lowerCaseTyped ? 1 : 0
  }
  const ordered = hits.slice(0, maxOrderedSkus).toSorted((a, b) => similarity(b) - similarity(a))
  return [...ordered, ...hits.slice(maxOrderedSkus)]
}

/** Orders pinned products as the company does. Other spellings of a SKU follow right after it. */
export function putInPinnedOrder(hits: EngineHit[], pinnedSkus: readonly string[]): EngineHit[] {
  const keys = pinnedSkus.map(toPinKey)
  const rankOf = ({ sku }: EngineHit) => {
    if (pinnedSkus.includes(sku)) return pinnedSkus.indexOf(sku)
    const sameKey = keys.indexOf(toPinKey(sku))
    // The engine's filters do not distinguish "①" from "1".
    return sameKey < 0 ? keys.length : sameKey + 0.5
  }
  return hits.toSorted((a, b) => rankOf(a) - rankOf(b))
}

type PartCondition = { rule: PartRule; condition: string }

function partConditions(query: ParsedQuery): PartCondition[] {
  return [
    ...exactSkuCondition(query),
    ...pinnedCondition(query),
    ...partialCodeConditions(query),
    ...enyeCondition(query),
  ]
}

function exactSkuCondition({ text, code }: ParsedQuery): PartCondition[] {
  if (text === '') return []
  const { skuKey, distinctSkuKey } = code
  const keys = distinctSkuKey === undefined ? [skuKey] : [distinctSkuKey, skuKey]
  return keys.map((key) => ({ rule: 'exact-sku', condition: `skuKey = ${quoteFilterValue(key)}` }))
}

const toPinKey = (sku: string) => toDistinctSkuKey(sku) ?? toSkuKey(sku)

function pinnedCondition({ pinnedSkus }: ParsedQuery): PartCondition[] {
  if (pinnedSkus.length === 0) return []
  const values = pinnedSkus.map((sku) => quoteFilterValue(toPinKey(sku))).join(', ')
  return [{ rule: 'pinned', condition: `skuKey IN [${values}]` }]
}

/** A code is a filter and not a search, because only a filter can be negated for later parts. */
function partialCodeConditions({ code }: ParsedQuery): PartCondition[] {
  const key = code.possibleKey
  if (key === undefined) return []
  const fields = ['skuKey', 'skuForms', ...(canBeginHsCode(key) ? ['hsCode'] : [])]
  const value = quoteFilterValue(key)
  return fields.map((field) => ({
    rule: 'partial-code',
    condition: `${field} STARTS WITH ${value}`,
  }))
}

function enyeCondition({ enyeWords: words }: ParsedQuery): PartCondition[] {
  if (words.length === 0) return []
  const condition = words.map((word) => `enye = ${quoteFilterValue(word)}`).join(' AND ')
  return [{ rule: 'enye-names', condition }]
}

/** Quotes a value so that nothing in it is read as part of the filter. */
function quoteFilterValue(value: string): string {
  return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
}
