// Measures what an outage of the search engine costs everything else, and how fast PostgreSQL
// answers searches meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from '../cli/command.ts'
import { type BenchService, benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { generateLines, insertLinkedQuote } from './support/data/linked-quotes.ts'
import { seeded, shuffle } from './support/data/seeded-random.ts'
import { keystrokes } from './support/load/keystroke-trace.ts'
import { sample } from './support/load/latency-sampler.ts'
import { quantile } from './support/load/quantile.ts'
import { type ApiProcess, startApi } from './support/processes/api-process.ts'

const help = `
Usage: node scripts/bench/engine-outage.ts [--products N] [--callers N] [--seconds N]

Some callers type product names, with and without typos, words that no product has, and the
empty query, each with counts by category; each pauses 100 ms between two keystrokes.
Meanwhile another client requests statistics and quote links. Prints the latency of both
without callers, with the callers while the search engine answers, and with them while there is
none. Two APIs with the same database take turns: one of them cannot reach the engine.

  --products N   size of the catalogue. Default: 1000000
  --callers N    callers of search. Default: 32
  --seconds N    duration of each measurement. Default: 15
`

const options = {
  products: { type: 'string', default: '1000000' },
  callers: { type: 'string', default: '32' },
  seconds: { type: 'string', default: '15' },
} as const

const unreachableEngine = 'http://127.0.0.1:9'
const pauseBetweenKeysMs = 100
const warmUpMs = 3_000

/** The keystrokes are those of products in this part of the catalogue. */
const typedProducts = 50_000
const rounds = 2

await runCommand(help, options, async ({ products: productCount, callers, seconds }) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(productCount))
    const texts = hardTexts(keystrokes(products.slice(0, typedProducts), 4_000))
    console.log(`Indexing ${products.length} products ...`)
    const service = await benchService(servers, 'outage', products)
    try {
      await compare(service, {
        texts,
        callers: Number(callers),
        durationMs: Number(seconds) * 1_000,
      })
    } finally {
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

/** `texts` are searched by the callers. */
type Load = { texts: string[]; callers: number; durationMs: number }

/** Prints the latencies with and without the engine, in turns. */
async function compare(service: BenchService, load: Load): Promise<void> {
  const token = await insertLinkedQuote(service.db, 'B-1', generateLines(10))
  const paths = ['/api/stats', `/quote/share/${token}`]
  const apis: ApiProcess[] = []
  const start = async (env: Record<string, string>): Promise<Measured> => {
    const limits = { SEARCH_CACHE_MB: '0', LINK_LIMIT_PER_MINUTE: '1000000' }
    const api = await startApi(service, { ...env, ...limits })
    apis.push(api)
    return { api, authorization: service.authorization, paths }
  }
  try {
    const withEngine = await start({})
    const without = await start({ MEILI_URL: unreachableEngine })
    for (let round = 1; round <= rounds; round++) {
      await measure('no callers', withEngine, { ...load, callers: 0 })
      const usual = await measure('with the engine', withEngine, load)
      const outage = await measure('without', without, load)
      console.log(`round ${round}: p95 without the engine ${(outage / usual).toFixed(2)} times`)
    }
  } finally {
    for (const api of apis) await api.stop()
  }
}

/** `paths` are those of statistics and a quote link. */
type Measured = { api: ApiProcess; authorization: string; paths: string[] }

/** Mixes the keystrokes with typos, unknown words and empty queries. */
function hardTexts(texts: string[]): string[] {
  const random = seeded('outage')
  const mistyped = texts
    .filter((text) => text.length >= 8)
    .slice(0, 1_000)
    .map((text) => `${text.slice(0, -3)}${text.slice(-2)}`)
  const others = Array.from({ length: 300 }, () => ['', 'qwzxkv', 'c', 'de']).flat()
  return shuffle([...texts, ...mistyped, ...others], random)
}

/** Returns the 95th percentile of statistics and links in milliseconds. */
async function measure(
  name: string,
  { api, authorization, paths }: Measured,
  { texts, callers, durationMs }: Load,
): Promise<number> {
  const sampler = sample(api.url, paths, authorization)
  const searches: { status: number; ms: number }[] = []
  let isRunning = true
  let next = 0
  const typing = Array.from({ length: callers }, async () => {
    while (isRunning) {
      const query = new URLSearchParams({
        q: texts[next++ % texts.length] ?? '',
        facets: 'category',
      })
      const startedAt = performance.now()
      const response = await fetch(`${api.url}/api/search?${query}`, { headers: { authorization } })
      await response.arrayBuffer()
      searches.push({ status: response.status, ms: performance.now() - startedAt })
      await sleep(pauseBetweenKeysMs)
    }
  })
  await sleep(warmUpMs)
  sampler.reset()
  searches.length = 0
  await sleep(durationMs)
  const samples = await sampler.stop()
  isRunning = false
  await Promise.all(typing)
  const answered = searches.filter(({ status }) => status === 200).map(({ ms }) => ms)
  const rejected = searches.filter(({ status }) => status === 503).length
  const times = samples.map(({ ms }) => ms)
  const p95 = quantile(times, 0.95)
  const failed = samples.filter(({ status }) => status !== 200).length
  console.log(
    `${name.padEnd(14)} statistics and links: p50 ${quantile(times, 0.5).toFixed(1)} ms, ` +
      `p95 ${p95.toFixed(1)} ms, ${failed} of ${times.length} failed`,
  )
  if (callers === 0) return p95
  console.log(
    `${''.padEnd(14)} ${callers} callers of search: ${answered.length} answered, ${rejected} ` +
      `rejected with 503, ${searches.length - answered.length - rejected} others; answered in ` +
      `p50 ${quantile(answered, 0.5).toFixed(0)} ms, p95 ${quantile(answered, 0.95).toFixed(0)} ms`,
  )
  return p95
}
