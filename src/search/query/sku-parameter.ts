// The parameter `sku` of GET /api/search, which asks for exact products instead of searching.
import { invalidParameter, type Problem } from '../../http/problem-details.ts'

export const maxSkus = 100
export const maxSkuLength = 100

/**
 * Returns an `invalid_parameter` problem if `sku` is not valid, or if it is combined with another
 * parameter.
 */
export function findInvalidSkus(query: Record<string, unknown>): Problem | undefined {
  if (query.sku === undefined) return undefined
  const skus = [query.sku].flat() as string[]
  const [other] = Object.keys(query).filter((name) => name !== 'sku')
  if (other !== undefined)
    return invalidParameter(other, 'cannot be combined with sku, which asks for exact products')
  if (skus.length > maxSkus)
    return invalidParameter('sku', `may be given ${maxSkus} times at most, not ${skus.length}`)
  if (skus.some((sku) => sku === '' || [...sku].length > maxSkuLength))
    return invalidParameter('sku', `must have 1 to ${maxSkuLength} characters`)
  if (skus.some((sku) => sku.includes('\u0000')))
    return invalidParameter('sku', 'must not contain the character NUL (%00)')
  return undefined
}
