// One search in the engine: the request that is sent and the answer made of it.
import type { Meilisearch, MultiSearchQuery } from 'meilisearch'
import { codeKey, type ProductDocument, shownAttributes } from './product-index.ts'
import { type Found, type Hit, maxTotal, type SearchRequest } from './schema.ts'

/** Products whose SKU is the query but for case and separators: shown first. More than this share no code key in practice. */
const maxExact = 20

/**
 * Searches the index. An exact SKU comes first, the one spelt as typed before others. Throws when the engine does not answer, or `signal` ends
 * the wait.
 */
export async function searchProducts(engine: Meilisearch, indexName: string, request: SearchRequest, signal: AbortSignal): Promise<Found> {
  const key = codeKey(request.text)
  const mayBeCode = /\d/.test(key)
  const filters = filtersOf(request)
  const window = { offset: Math.max(0, request.offset - (mayBeCode ? maxExact : 0)), count: request.limit + (mayBeCode ? maxExact : 0) }
  const page = pageAround(window.offset, window.count)
  const main: MultiSearchQuery = {
    indexUid: indexName,
    q: plainQuery(request.text),
    page: page.number,
    hitsPerPage: page.size,
    filter: mayBeCode ? [...filters, `skuKey != ${quoted(key)}`] : filters,
    ...(request.text === '' && { sort: ['quotedRank:asc'] }),
    facets: request.facets,
    matchingStrategy: 'frequency',
    attributesToRetrieve: [...shownAttributes],
    showMatchesPosition: true,
  }
  const exact: MultiSearchQuery = {
    indexUid: indexName,
    q: '',
    page: 1,
    hitsPerPage: maxExact,
    filter: [...filters, `skuKey = ${quoted(key)}`],
    facets: request.facets,
    attributesToRetrieve: [...shownAttributes],
  }
  const { results } = await engine.multiSearch<{ queries: MultiSearchQuery[] }, ProductDocument>(
    { queries: mayBeCode ? [main, exact] : [main] },
    { signal },
  )
  const [mainResult, exactResult] = results as unknown as [EngineResult, EngineResult | undefined]
  const exactHits = (exactResult?.hits ?? []).map((hit) => ({ ...toHit(hit), highlights: { sku: [[0, hit.sku.length]] } }))
  exactHits.sort((a, b) => Number(b.sku === request.text) - Number(a.sku === request.text))

  const rest = mainResult.hits.slice(window.offset - page.start).map(toHit)
  const skipped = request.offset - window.offset
  // Before the window lie exactly the exact hits and window.offset others; the wanted page begins at request.offset of them all.
  const merged = window.offset === 0 ? [...exactHits, ...rest] : rest
  const start = window.offset === 0 ? request.offset : skipped - exactHits.length
  return {
    hits: merged.slice(start, start + request.limit),
    total: Math.min(maxTotal, (mainResult.totalHits ?? 0) + exactHits.length),
    facets: Object.fromEntries(
      request.facets.map((name) => [name, sum(mainResult.facetDistribution?.[name], exactResult?.facetDistribution?.[name])]),
    ),
  }
}

type EngineHit = ProductDocument & { _matchesPosition?: Partial<Record<string, { start: number; length: number; indices?: number[] }[]>> }
type EngineResult = { hits: EngineHit[]; totalHits?: number; facetDistribution?: Record<string, Record<string, number>> }

/** The smallest engine page that holds `count` hits from `offset`: only whole pages carry an exact total. */
function pageAround(offset: number, count: number): { number: number; size: number; start: number } {
  for (let size = count; ; size++) {
    const number = Math.floor(offset / size)
    if (number === Math.floor((offset + count - 1) / size)) return { number: number + 1, size, start: number * size }
  }
}

/** The engine reads quotes as phrases and a leading minus as "without"; nobody at a palette means either. */
function plainQuery(text: string): string {
  return text.replace(/["“”«»]/g, ' ').replace(/(^|\s)-+/g, '$1')
}

function filtersOf({ category, brand }: SearchRequest): string[] {
  return [
    ...(category === undefined ? [] : [`category = ${quoted(category)}`]),
    ...(brand === undefined ? [] : [`brand = ${quoted(brand)}`]),
  ]
}

/** A filter value that stays a value, whatever it holds. */
function quoted(value: string): string {
  return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
}

function sum(...counts: (Record<string, number> | undefined)[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const count of counts) for (const [value, number] of Object.entries(count ?? {})) total[value] = (total[value] ?? 0) + number
  return total
}

const highlighted = ['sku', 'name', 'description', 'category', 'brand', 'hsCode'] as const

function toHit(hit: EngineHit): Hit {
  const { _matchesPosition: positions = {}, ...product } = hit
  const highlights: Hit['highlights'] = {}
  for (const attribute of highlighted) {
    const value = product[attribute]
    const found = positions[attribute]
    if (value && found) highlights[attribute] = found.map(({ start, length }) => utf16Range(value, start, length))
  }
  return { ...product, highlights }
}

/** The engine counts bytes of UTF-8; callers count UTF-16 code units. */
function utf16Range(value: string, start: number, length: number): [number, number] {
  const bytes = Buffer.from(value)
  return [bytes.subarray(0, start).toString().length, bytes.subarray(start, start + length).toString().length]
}
