// How fast search is: a keystroke trace against the endpoint, with and without its memory, and the same requests straight to the engine.
import { Agent, request } from 'node:http'
import { openSearchEngine } from '../../src/connections.ts'
import type { EngineQuery } from '../../src/search/engine.ts'
import { searchDatabase } from '../../src/search/fallback.ts'
import { searchProducts } from '../../src/search/query.ts'
import { runCommand } from '../command.ts'
import { startApi } from './api-process.ts'
import { crossedCatalogue, type Product } from './catalogues.ts'
import { seeded, shuffle } from './random.ts'
import { type BenchService, benchServers, benchService } from './service.ts'

const help = `
Usage: node scripts/bench/search.ts [--keystrokes N] [--products N] [--rounds N]

Types product names key by key, products drawn by Zipf's law (s = 1) from a made catalogue: one pass at 10 connections against the endpoint with
an empty memory, against the endpoint without memory, and straight against Meilisearch with the very requests that the endpoint sends. Prints
requests a second, latencies and the ratios; then latencies at one connection without memory, and those of PostgreSQL when it answers alone.
The three are measured in turns, and each figure is the median of the rounds.

  --keystrokes N   length of the trace (6000)
  --products N     size of the catalogue (50000)
  --rounds N       how often everything is measured (3)
`

const options = {
  keystrokes: { type: 'string', default: '6000' },
  products: { type: 'string', default: '50000' },
  rounds: { type: 'string', default: '3' },
} as const

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    const trace = keystrokes(products, Number(values.keystrokes))
    console.log(`Indexing ${products.length} products ...`)
    const service = await benchService(servers, 'titles', products)
    try {
      await report(service, trace, Number(values.rounds))
    } finally {
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

/** Names typed from their first letter until somebody sees what they want: after 4 to 16 keys. */
function keystrokes(products: Product[], count: number): string[] {
  const random = seeded('trace')
  const byRank = shuffle([...products], random)
  const cumulated: number[] = []
  for (const rank of byRank.keys()) cumulated.push((cumulated.at(-1) ?? 0) + 1 / (rank + 1))
  const typed: string[] = []
  while (typed.length < count) {
    const wanted = random.next() * (cumulated.at(-1) ?? 0)
    let [low, high] = [0, cumulated.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cumulated[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    const name = byRank[low]?.name.toLowerCase() ?? ''
    const keys = 4 + random.below(13)
    for (let length = 1; length <= Math.min(keys, name.length); length++) if (name[length - 1] !== ' ') typed.push(name.slice(0, length))
  }
  return typed.slice(0, count)
}

type Target = (text: string) => Promise<unknown>
type Figures = { perSecond: number; p50: number; p95: number }

async function report(service: BenchService, trace: string[], rounds: number): Promise<void> {
  console.log(`${trace.length} keystrokes, ${new Set(trace).size} different`)
  const sent = await sentRequests(service, trace)
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const direct: Target = (text) =>
    ask(agent, `${service.meiliUrl}/multi-search`, { authorization: `Bearer ${service.meiliKey}` }, sent.get(text) ?? '')
  const endpoint =
    (url: string): Target =>
    (text) =>
      ask(agent, `${url}/api/search?q=${encodeURIComponent(text)}`, { authorization: service.authorization })

  const uncached = [...new Set(trace)].slice(0, 1500)
  const figures = {
    memory: [] as Figures[],
    plain: [] as Figures[],
    direct: [] as Figures[],
    one: [] as Figures[],
    oneDirect: [] as Figures[],
  }
  for (let round = 0; round < rounds; round++) {
    const remembering = await startApi(service, { SEARCH_MEMORY_MB: '32' })
    figures.memory.push(await run(endpoint(remembering.url), trace, 10))
    await remembering.stop()
    const plain = await startApi(service, { SEARCH_MEMORY_MB: '0' })
    figures.plain.push(await run(endpoint(plain.url), trace, 10))
    figures.direct.push(await run(direct, trace, 10))
    figures.one.push(await run(endpoint(plain.url), uncached, 1))
    figures.oneDirect.push(await run(direct, uncached, 1))
    await plain.stop()
    console.log(`round ${round + 1} of ${rounds} done`)
  }
  agent.destroy()

  console.log(`\n10 connections, one pass${''.padEnd(12)}requests/s   p50 ms   p95 ms`)
  const show = (name: string, all: Figures[]) => {
    const one = middle(all)
    console.log(name.padEnd(36) + one.perSecond.toFixed(0).padStart(10) + one.p50.toFixed(2).padStart(9) + one.p95.toFixed(2).padStart(9))
  }
  show('endpoint, memory empty at first', figures.memory)
  show('endpoint, without memory', figures.plain)
  show('Meilisearch, the same requests', figures.direct)
  const ratio = (other: Figures[]) =>
    median(other.map(({ perSecond }, round) => perSecond / (figures.direct[round]?.perSecond ?? 1))).toFixed(2)
  console.log(`with memory ${ratio(figures.memory)} × direct, without ${ratio(figures.plain)} × direct`)
  console.log('\n1 connection, nothing remembered')
  show('endpoint', figures.one)
  show('Meilisearch, the same requests', figures.oneDirect)
  console.log(`p95 ${(middle(figures.one).p95 - middle(figures.oneDirect).p95).toFixed(2)} ms above direct`)

  console.log('\nPostgreSQL alone, 1 connection')
  const database = await run(
    (text) => searchDatabase(service.db, { text, limit: 8, offset: 0, facets: [] }),
    shuffle([...uncached], seeded('fallback')).slice(0, 400),
    1,
  )
  show('searchDatabase', [database])
}

/** What the endpoint sends to the engine for each text: recorded from the function that sends it. */
async function sentRequests({ meiliUrl, meiliKey, indexName }: BenchService, trace: string[]): Promise<Map<string, string>> {
  const engine = openSearchEngine(meiliUrl, meiliKey)
  const sent = new Map<string, string>()
  for (const text of new Set(trace)) {
    let first: EngineQuery[] | undefined
    const recording = {
      ...engine,
      search(queries: EngineQuery[], signal: AbortSignal) {
        first ??= queries
        return engine.search(queries, signal)
      },
    }
    await searchProducts(recording, indexName, { text: text.trim(), limit: 8, offset: 0, facets: [] }, AbortSignal.timeout(60_000))
    sent.set(text, JSON.stringify({ queries: first }))
  }
  engine.close()
  return sent
}

async function run(target: Target, texts: string[], connections: number): Promise<Figures> {
  const latencies: number[] = []
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let text = texts[next++]; text !== undefined; text = texts[next++]) {
        const askedAt = performance.now()
        await target(text)
        latencies.push(performance.now() - askedAt)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return { perSecond: latencies.length / seconds, p50: at(0.5), p95: at(0.95) }
}

function ask(agent: Agent, url: string, headers: Record<string, string>, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers: { ...headers, ...json } }, (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      response.on('end', () => (response.statusCode === 200 ? resolve(bytes) : reject(new Error(`${response.statusCode} for ${url}`))))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function middle(all: Figures[]): Figures {
  const of = (name: keyof Figures) => median(all.map((figures) => figures[name]))
  return { perSecond: of('perSecond'), p50: of('p50'), p95: of('p95') }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
