// Measures searches of three to six words that no product holds together, next to one request of
// Meilisearch with the same words and its default matching strategy.
import { crossedCatalogue } from './data/catalogues.ts'
import { knownItems } from './data/known-items.ts'
import { type Bench, createService, load, quantile, startApi } from './harness.ts'

const maxWords = 6

export async function measure(bench: Bench): Promise<void> {
  const products = await crossedCatalogue(bench.size(50_000, 500))
  const service = await createService(bench, 'widening', products)
  const api = await startApi(bench, 'widening', service, { SEARCH_CACHE_MB: '0' })
  const items = knownItems(products, bench.size(400, 20))
  const texts = items.map(({ queries }, index) => {
    const other = items[(index + 1) % items.length]?.queries.clean ?? ''
    const words = [...queries.clean.split(' '), ...other.split(' ').slice(0, 2)]
    return words.slice(0, maxWords).join(' ')
  })
  const targets = {
    ours: {
      url: api.url,
      requests: texts.map((text) => ({
        path: `/api/search?q=${encodeURIComponent(text)}`,
        headers: service.headers,
      })),
    },
    direct: {
      url: service.meiliUrl,
      requests: texts.map((q) => ({
        method: 'POST' as const,
        path: `/indexes/${service.indexName}/search`,
        headers: {
          authorization: `Bearer ${service.meiliKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ q, limit: 8 }),
      })),
    },
  }
  const times = { ours: [] as number[], direct: [] as number[] }
  for (let round = 0; round <= bench.size(3, 1); round++)
    for (const name of ['ours', 'direct'] as const) {
      const measured = await load(targets[name], { connections: 1 })
      if (measured.failed > 0) throw new Error(`${name}: ${measured.failed} searches failed.`)
      // The first round warms up.
      if (round > 0) times[name].push(...measured.times)
    }
  for (const [share, atMost] of [
    [0.5, 3],
    [0.95, 4],
  ] as const) {
    const [ours, direct] = [quantile(times.ours, share), quantile(times.direct, share)]
    bench.report({
      what: `p${share * 100}, of one direct request`,
      value: ours / direct,
      unit: '×',
      bar: { atMost },
      detail: `${ours.toFixed(1)} ms of ${direct.toFixed(1)} ms`,
    })
  }
}
