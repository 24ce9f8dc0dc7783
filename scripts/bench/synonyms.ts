// Measures synonyms as a setting of the engine: how long a change takes until it is live, and what
// each number of them costs every search.
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineConnections } from '../../src/search-engine/engine-connections.ts'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { knownItems } from './support/data/known-items.ts'
import { seeded } from './support/data/seeded-random.ts'
import { quantile } from './support/load/quantile.ts'

const help = `
Usage: node scripts/bench/synonyms.ts [--products N] [--queries N] [--rounds N] [--counts N,N,…]

Sets further pairs of words as synonyms beside those of the service, and prints for each number of
pairs: how long the engine takes to apply the change, and how long it takes to search.

  --products N  size of the catalogue. Default: 50000
  --queries N   number of queries. Default: 300
  --rounds N    how often each number of pairs is measured. Default: 3
  --counts N,…  numbers of pairs. Default: 0,500,1000,2000,5000,10000,20000
`

const options = {
  products: { type: 'string', default: '50000' },
  queries: { type: 'string', default: '300' },
  rounds: { type: 'string', default: '3' },
  counts: { type: 'string', default: '0,500,1000,2000,5000,10000,20000' },
} as const

const pauseAfterIndexingMs = 2_000

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    console.log(`Indexing ${products.length} products ...`)
    const startedAt = performance.now()
    const service = await benchService(servers, 'synonyms', products)
    console.log(`  ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
    const index = service.engine.index(service.indexName)
    const given = await index.getSynonyms()
    const queries = knownItems(products, Number(values.queries)).map(
      ({ queries: { clean } }) => clean,
    )
    // Not with fetch, which sends head and body in two writes: the engine delays its answer.
    const engine = new EngineConnections(new URL(service.meiliUrl), {
      authorization: `Bearer ${service.meiliKey}`,
    })
    const search = async (q: string) => {
      const path = `/indexes/${service.indexName}/search`
      const { signal } = new AbortController()
      const { status } = await engine.send('POST', path, JSON.stringify({ q, limit: 8 }), signal)
      if (status !== 200) throw new Error(`${status} for ${q}`)
    }
    try {
      await sleep(pauseAfterIndexingMs)
      const counts = values.counts.split(',').map(Number)
      const measured = counts.map((count) => ({
        count,
        synonyms: { ...given, ...drawSynonyms(count) },
        changes: [] as number[],
        searches: [] as number[],
      }))
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const { synonyms, changes, searches } of measured) {
          const changedAt = performance.now()
          await index.updateSynonyms(synonyms).waitTask({ interval: 5, timeout: 600_000 })
          changes.push(performance.now() - changedAt)
          await search('a')
          for (const query of queries) {
            const searchedAt = performance.now()
            await search(query)
            searches.push(performance.now() - searchedAt)
          }
        }
      }
      for (const { count, changes, searches } of measured)
        console.log(
          `${String(count).padStart(6)} pairs  change ${quantile(changes, 0.5).toFixed(0)} ms   ` +
            `search p50 ${quantile(searches, 0.5).toFixed(2)} ms, ` +
            `p95 ${quantile(searches, 0.95).toFixed(2)} ms`,
        )
    } finally {
      await engine.close()
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

/** Returns pairs of words that no product has. */
function drawSynonyms(count: number): Record<string, string[]> {
  const random = seeded('synonyms')
  const word = () =>
    Array.from({ length: 7 }, () => String.fromCharCode(97 + random.below(26))).join('')
  return Object.fromEntries(Array.from({ length: count }, () => [word(), [word()]]))
}
