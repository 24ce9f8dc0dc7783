// Measures the relevance of search with known items on two catalogues, next to Meilisearch with its
// default settings.
import { type Meilisearch, MeilisearchApiError } from 'meilisearch'
import { crossedCatalogue, type Product, spanishCatalogue } from './data/catalogues.ts'
import { type KnownItem, knownItems, rate, variants } from './data/known-items.ts'
import { type Bar, type Bench, type BenchService, createService, startApi } from './harness.ts'

/** Queries for which no product contains all words. */
const hardQueries: Record<string, (item: KnownItem, other: KnownItem) => string> = {
  'a word that no product contains, then the item’s words': ({ queries }) =>
    `qwzxkv ${queries.clean}`,
  'the item’s words, then a code that no product has': ({ queries }) =>
    `${queries.clean} for 998-771649`,
  'one word of the item, and one of another': ({ queries }, other) =>
    `${queries.clean.split(' ')[0]} ${other.queries.clean.split(' ')[0]}`,
  'the item’s words, and two of another': ({ queries }, other) =>
    `${queries.clean} ${other.queries.clean.split(' ').slice(0, 2).join(' ')}`,
  'the item’s words, one of them cut short, and two of another': ({ queries }, other) =>
    `${queries.cut} ${other.queries.clean.split(' ').slice(0, 2).join(' ')}`,
}

type Ask = (query: string) => Promise<string[]>

export async function measure(bench: Bench): Promise<void> {
  for (const [name, products] of [
    ['cpv', spanishCatalogue().slice(0, bench.size(10_000, 500))],
    ['titles', await crossedCatalogue(bench.size(50_000, 500))],
  ] as const) {
    const service = await createService(bench, name, products)
    const { url } = await startApi(bench, name, service)
    const ours: Ask = (query) => searchApi(`${url}/api/search`, service, query)
    const defaults = await indexWithDefaults(service.engine, `${name}_defaults`, products)
    const items = knownItems(products, bench.size(2_000, 20))
    const report = (what: string, figure: string, [own, other]: [number, number], bar?: Bar) =>
      bench.report({
        what: `${name}, ${what}: ${figure}, of Meilisearch’s defaults`,
        value: own / other,
        unit: '×',
        ...(bar && { bar }),
        detail: `${own.toFixed(4)} of ${other.toFixed(4)}`,
      })
    for (const variant of variants) {
      const queries = items.map(({ queries }) => queries[variant])
      report(
        variant,
        'mean reciprocal rank of ten',
        [
          (await rate(items, queries, ours)).reciprocalRank,
          (await rate(items, queries, defaults)).reciprocalRank,
        ],
        { atLeast: 0.99 },
      )
    }
    for (const [what, make] of Object.entries(hardQueries)) {
      const queries = items.map((item, n) => make(item, items[(n + 1) % items.length] ?? item))
      report(what, 'found among five', [
        (await rate(items, queries, ours)).amongFive,
        (await rate(items, queries, defaults)).amongFive,
      ])
    }
  }
}

async function searchApi(url: string, { headers }: BenchService, query: string): Promise<string[]> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const response = await fetch(`${url}?limit=10&q=${encodeURIComponent(query)}`, { headers })
    const { hits, meta, detail } = (await response.json()) as {
      hits?: { sku: string }[]
      meta?: { degraded: boolean }
      detail?: string
    }
    if (!hits && response.status !== 503)
      throw new Error(`${response.status} ${detail} for ${query}`)
    if (hits && !meta?.degraded) return hits.map(({ sku }) => sku)
    // The engine was too slow for a moment. Only its answers are measured, not those of PostgreSQL.
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error('The search engine does not answer in time: this machine is too busy.')
}

/** Indexes the catalogue with the default settings. Returns a function that searches it. */
async function indexWithDefaults(
  engine: Meilisearch,
  indexName: string,
  products: Product[],
): Promise<Ask> {
  const documents = products.map((product, id) => ({ id: String(id), ...product }))
  const task = await engine
    .index(indexName)
    .addDocuments(documents, { primaryKey: 'id' })
    .waitTask({ timeout: 600_000 })
  if (task.error) throw new MeilisearchApiError(new Response(), task.error)
  return async (query) => {
    const { hits } = await engine.index<Product>(indexName).search(query, { limit: 10 })
    return hits.map(({ sku }) => sku)
  }
}
