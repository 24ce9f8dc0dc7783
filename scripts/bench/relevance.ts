// Measures the relevance of search with known items on two catalogues, next to Meilisearch with its
// default settings.
import { type Meilisearch, MeilisearchApiError } from 'meilisearch'
import { runCommand } from '../cli/command.ts'
import { type BenchService, benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue, type Product, spanishCatalogue } from './support/data/catalogues.ts'
import { type KnownItem, knownItems, measure, variants } from './support/data/known-items.ts'

const help = `
Usage: node scripts/bench/relevance.ts [--queries N] [--titles N] [--seed S] [--only NAME]

Indexes the Spanish procurement vocabulary (9,454 names) and a generated catalogue of 50,000
titles, and searches both for known items: the two or three rarest words of a name, unchanged,
without accents, with one and two typos, with the last word or one before it shortened; and the
code. Prints
success at 1 and at 5, the mean reciprocal rank, and the share of queries without a result,
each next to an index with Meilisearch's default settings in the same run. Then the same for
queries with a word that no product contains, and with words of two products.

  --queries N   queries per variant. Default: 2000
  --titles N    size of the generated catalogue. Default: 50000
  --seed S      another random selection of queries. Default: 1
  --only NAME   one catalogue: cpv or titles

Starts the servers, or uses those of DATABASE_URL, REDIS_URL, and MEILI_URL with
MEILI_MASTER_KEY.
`

const options = {
  queries: { type: 'string', default: '2000' },
  titles: { type: 'string', default: '50000' },
  seed: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
} as const

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

await runCommand(help, options, async ({ queries, titles, seed, only }) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    for (const [name, products] of [
      ['cpv', only === 'titles' ? [] : spanishCatalogue()],
      ['titles', only === 'cpv' ? [] : await crossedCatalogue(Number(titles))],
    ] as const) {
      if (products.length === 0) continue
      console.log(`\n${name}: indexing ${products.length} products ...`)
      const service = await benchService(servers, name, products)
      try {
        await report(service, products, knownItems(products, Number(queries), seed))
      } finally {
        await service.close()
      }
    }
  } finally {
    await servers.stop()
  }
  return 0
})

async function report(
  service: BenchService,
  products: Product[],
  items: KnownItem[],
): Promise<void> {
  const defaults = await indexWithDefaults(
    service.engine,
    `${service.indexName}_defaults`,
    products,
  )
  const ours = (query: string) => searchEndpoint(service, query)
  console.log(
    `${items.length} queries per variant: success@1 / success@5 / mrr@10 / without result`,
  )
  console.log(`${''.padEnd(10)}${'this service'.padEnd(34)}Meilisearch's defaults`)
  const printLine = (name: string, results: string[]) =>
    console.log(name.padEnd(10) + results.map((result) => result.padEnd(34)).join(''))
  for (const variant of variants) {
    const results = []
    for (const search of [ours, defaults]) {
      const { first, fifth, reciprocalRank, empty } = await measure(items, variant, search)
      results.push(
        [first, fifth, reciprocalRank, empty].map((share) => share.toFixed(4)).join(' / '),
      )
    }
    printLine(variant, results)
  }
  for (const [name, make] of Object.entries(hardQueries)) {
    const results = []
    for (const search of [ours, defaults]) {
      let [found, empty] = [0, 0]
      for (const [place, item] of items.entries()) {
        const answer = await search(make(item, items[(place + 1) % items.length] ?? item))
        if (answer.length === 0) empty++
        if (answer.slice(0, 5).some((sku) => item.skus.has(sku))) found++
      }
      results.push(
        `success@5 ${(found / items.length).toFixed(4)}, ` +
          `without result ${(empty / items.length).toFixed(4)}`,
      )
    }
    console.log(`${name}\n${''.padEnd(10)}${results.map((result) => result.padEnd(44)).join('')}`)
  }
}

async function searchEndpoint(
  { url, authorization }: BenchService,
  query: string,
): Promise<string[]> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const response = await fetch(`${url}/api/search?limit=10&q=${encodeURIComponent(query)}`, {
      headers: { authorization },
    })
    const body = (await response.json()) as {
      hits?: { sku: string }[]
      meta?: { degraded: boolean }
      detail?: string
    }
    const isUnavailable = response.status === 503
    if (!body.hits && !isUnavailable)
      throw new Error(`${response.status} ${body.detail} for ${query}`)
    if (body.hits && !body.meta?.degraded) return body.hits.map(({ sku }) => sku)
    // The engine was too slow for a moment. Only its answers are measured, not those of PostgreSQL.
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error(
    'The search engine does not answer in time: this machine is too busy for measurements.',
  )
}

/** Indexes the catalogue with the default settings. Returns a function that searches it. */
async function indexWithDefaults(
  engine: Meilisearch,
  indexName: string,
  products: Product[],
): Promise<(query: string) => Promise<string[]>> {
  await engine.deleteIndexIfExists(indexName)
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
