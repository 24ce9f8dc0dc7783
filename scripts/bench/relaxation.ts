// Measures searches of several words that no product holds together, next to one direct request of
// Meilisearch with the same words.
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineConnections } from '../../src/search-engine/client.ts'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { knownItems } from './support/data/known-items.ts'
import { quantile } from './support/load/quantile.ts'

const help = `
Usage: node scripts/bench/relaxation.ts [--products N] [--queries N] [--rounds N]

Types words of one product and two words of another one: queries of three to six words, which no
product holds together. Sends them one after the other to the endpoint without a cache, and to
Meilisearch directly with its default matching strategy, in turns. Prints the latencies by number
of words, and as multiples of the direct request.

  --products N   size of the catalogue. Default: 50000
  --queries N    number of queries. Default: 400
  --rounds N     how often everything is measured. Default: 3
`

const options = {
  products: { type: 'string', default: '50000' },
  queries: { type: 'string', default: '400' },
  rounds: { type: 'string', default: '3' },
} as const

const maxWords = 6
const pauseAfterIndexingMs = 2_000

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    console.log(`Indexing ${products.length} products ...`)
    const service = await benchService(servers, 'relaxation', products)
    try {
      const items = knownItems(products, Number(values.queries))
      const queries = items.map(({ queries: own }, index) => {
        const other = items[(index + 1) % items.length]?.queries.clean ?? ''
        return [...own.clean.split(' '), ...other.split(' ').slice(0, 2)]
          .slice(0, maxWords)
          .join(' ')
      })
      // Indexing has delayed the event loop of this process, in which the endpoint runs too.
      await sleep(pauseAfterIndexingMs)
      // Not with fetch, which costs more than a request, and sends head and body in two writes: the
      // engine delays its answer.
      const { signal } = new AbortController()
      const { authorization } = service
      const api = new EngineConnections(new URL(service.url), { authorization })
      const engine = new EngineConnections(new URL(service.meiliUrl), {
        authorization: `Bearer ${service.meiliKey}`,
      })
      const endpoint = async (q: string) => {
        const path = `/api/search?q=${encodeURIComponent(q)}`
        const { status } = await api.send('GET', path, null, signal)
        if (status !== 200) throw new Error(`${status} for ${q}`)
      }
      const direct = async (q: string) => {
        const path = `/indexes/${service.indexName}/search`
        const { status } = await engine.send('POST', path, JSON.stringify({ q, limit: 8 }), signal)
        if (status !== 200) throw new Error(`${status} for ${q}`)
      }
      const measureMs = async (search: Promise<void>) => {
        const startedAt = performance.now()
        await search
        return performance.now() - startedAt
      }
      const times = new Map<number, { endpoint: number[]; direct: number[] }>()
      for (let round = 0; round <= Number(values.rounds); round++) {
        for (const q of queries) {
          const words = q.split(' ').length
          const measured = times.get(words) ?? { endpoint: [], direct: [] }
          const [ours, theirs] = [await measureMs(endpoint(q)), await measureMs(direct(q))]
          // The first round warms up.
          if (round === 0) continue
          measured.endpoint.push(ours)
          measured.direct.push(theirs)
          times.set(words, measured)
        }
      }
      await api.close()
      await engine.close()
      report('all', [...times.values()])
      for (const [words, measured] of [...times].toSorted(([a], [b]) => a - b))
        report(`${words} words`, [measured])
    } finally {
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

function report(name: string, measured: { endpoint: number[]; direct: number[] }[]): void {
  const endpoint = measured.flatMap((times) => times.endpoint)
  const direct = measured.flatMap((times) => times.direct)
  const columns = [0.5, 0.95].map((share) => {
    const [ours, theirs] = [quantile(endpoint, share), quantile(direct, share)]
    return (
      `p${share * 100} ${ours.toFixed(1)} ms, direct ${theirs.toFixed(1)} ms ` +
      `(${(ours / theirs).toFixed(2)} ×)`
    )
  })
  console.log(`${name.padEnd(8)} ${String(endpoint.length).padStart(5)}  ${columns.join('   ')}`)
}
