// Measures the speed of search with a trace of keystrokes: the endpoint with and without its cache,
// and the same requests sent directly to Meilisearch.
import { writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describeError } from '../../src/monitoring/describe-error.ts'
import { searchInPostgres } from '../../src/search/postgres.ts'
import { parseQuery } from '../../src/text/parse-query.ts'
import { runCommand } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { type BenchService, benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/data/catalogues.ts'
import { seeded, shuffle } from './support/data/seeded-random.ts'
import { recordEngineRequests } from './support/engine-requests.ts'
import { keystrokes } from './support/load/keystroke-trace.ts'
import { median, quantile } from './support/load/quantile.ts'
import { type ApiProcess, startApi } from './support/processes/api-process.ts'
import { startBenchProcess } from './support/processes/bench-process.ts'
import { processorMicroseconds } from './support/processes/cpu-time.ts'

const help = `
Usage: node scripts/bench/search.ts [--keystrokes N] [--products N] [--rounds N] [--cold]
                                    [--compare DIRECTORY]

Types product names letter by letter. The products are drawn by Zipf's law (s = 1) from a
generated catalogue. With 10 connections the trace is sent once to each of:

  the endpoint with an empty cache
  the endpoint without a cache
  Meilisearch directly, with the request for hits that the endpoint sends for each text
  a pass-through route: a Fastify route that only forwards this request and the bytes of its
  answer, which is the fastest that a service of this kind can be on the same cores

The endpoint also sends requests that count words, and those of relaxed queries, which neither
Meilisearch nor the pass-through route gets here.

Prints requests a second, latencies, how many responses came from PostgreSQL, the processor
time of the API, and the ratios. Then the latencies with one connection and without a cache,
and those of PostgreSQL alone. The targets are measured in turns, and each number is the
median of the rounds. The API is warmed up with other keystrokes, because Meilisearch is warm
too; its cache is then emptied as after a change of the index.

  --keystrokes N   length of the trace. Default: 6000
  --products N     size of the catalogue. Default: 50000
  --rounds N       how often everything is measured. Default: 3
  --cold           start new processes for each round, and do not warm them up
  --compare DIRECTORY
                   measure also the endpoint without a cache of another checkout, such as that
                   of an older version with the same tables and documents
`

const options = {
  keystrokes: { type: 'string', default: '6000' },
  products: { type: 'string', default: '50000' },
  rounds: { type: 'string', default: '3' },
  cold: { type: 'boolean', default: false },
  compare: { type: 'string' },
} as const

/** With fewer passes the JIT compiler is still at work in the first round. */
const warmUpPasses = 3

const cacheMb = 32
const connections = 10
/** The different texts that are sent over one connection. */
const oneConnectionTexts = 1_500
/** How many of them are sent to PostgreSQL alone. */
const databaseTexts = 400

/** The part of a response that says that PostgreSQL answered. */
const answerFromDatabase = '"source":"database"'

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    const trace = keystrokes(products, Number(values.keystrokes))
    const warmUp = values.cold ? [] : keystrokes(products, warmUpPasses * trace.length, 'warming')
    console.log(`Indexing ${products.length} products ...`)
    const service = await benchService(servers, 'titles', products)
    try {
      await report(service, { trace, warmUp }, Number(values.rounds), values.compare)
    } finally {
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

/** Sends a search and returns the end of the response body. */
type Target = (text: string) => Promise<string>
type Measurement = {
  perSecond: number
  p50: number
  p95: number
  fromDatabase: number
  processorUs: number
}
type Server = Pick<ApiProcess, 'url' | 'pid' | 'stop'>
type WarmTarget = { endpoint: Target; pid: number; stop(): Promise<void> }
/** The measurements of all rounds, by what was measured. */
type Measurements = Record<
  | 'cached'
  | 'uncached'
  | 'compared'
  | 'passThrough'
  | 'direct'
  | 'oneConnection'
  | 'oneConnectionDirect',
  Measurement[]
>
/** Keystrokes to measure with and to warm up with. No process is warmed up if `warmUp` is empty. */
type Traces = { trace: string[]; warmUp: string[] }

async function report(
  service: BenchService,
  traces: Traces,
  rounds: number,
  compared: string | undefined,
): Promise<void> {
  const { trace } = traces
  const { requests, withMoreRequests } = await recordEngineRequests(service, trace)
  console.log(
    `${trace.length} keystrokes, ${requests.size} different, ${withMoreRequests} of them with ` +
      `other requests too; load ${loadAverage()}`,
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const targets = createTargets(service, agent, requests, compared)
  try {
    printMeasurements(await measureRounds(service, targets, traces, rounds))
  } finally {
    agent.destroy()
    // Before the servers stop, whose absence they would log after the error.
    await targets.stop()
  }
  printMeasurement('searchInPostgres', [await measureDatabase(service, distinctTexts(trace))])
  console.log(`\nload ${loadAverage()}`)
}

type Targets = {
  /** Meilisearch, with the requests that the endpoint sends. */
  direct: Target
  /** Starts the API and sends it `warmUp`. */
  startEndpoint(searchCacheMb: number, warmUp: string[]): Promise<WarmTarget>
  /** Starts the API of the other checkout and sends it `warmUp`; null if there is none. */
  startCompared(warmUp: string[]): Promise<WarmTarget | null>
  /** Starts the pass-through route and sends it `warmUp`. */
  startPassThrough(warmUp: string[]): Promise<WarmTarget>
  /** Stops the processes that are still running. */
  stop(): Promise<void>
}

/** Returns the targets that are compared. They share one pool of connections. */
function createTargets(
  service: BenchService,
  agent: Agent,
  requests: Map<string, string>,
  compared: string | undefined,
): Targets {
  const engineHeaders = { authorization: `Bearer ${service.meiliKey}` }
  const engineUrl = `${service.meiliUrl}/multi-search`
  const { authorization } = service
  const stops: (() => Promise<void>)[] = []

  async function warmUpTarget({ url, pid, stop }: Server, texts: string[]): Promise<WarmTarget> {
    stops.push(stop)
    const endpoint: Target = (text) =>
      sendRequest(agent, `${url}/api/search?q=${encodeURIComponent(text)}`, { authorization })
    await measure(endpoint, texts, connections)
    return { endpoint, pid, stop }
  }

  return {
    direct: (text) => sendRequest(agent, engineUrl, engineHeaders, requests.get(text) ?? ''),
    startEndpoint: async (searchCacheMb, warmUp) =>
      warmUpTarget(await startApi(service, { SEARCH_CACHE_MB: String(searchCacheMb) }), warmUp),
    startCompared: async (warmUp) =>
      compared === undefined
        ? null
        : warmUpTarget(await startApi(service, { SEARCH_CACHE_MB: '0' }, compared), warmUp),
    startPassThrough: async (warmUp) =>
      warmUpTarget(await startPassThroughRoute(service, requests), warmUp),
    async stop() {
      for (const stop of stops) await stop()
    },
  }
}

/** Measures every target once in each round, with processes that are warm or new. */
async function measureRounds(
  service: BenchService,
  targets: Targets,
  { trace, warmUp }: Traces,
  rounds: number,
): Promise<Measurements> {
  const isWarm = warmUp.length > 0
  const measurements: Measurements = {
    cached: [],
    uncached: [],
    compared: [],
    passThrough: [],
    direct: [],
    oneConnection: [],
    oneConnectionDirect: [],
  }
  // The route knows only the requests of the trace, and caches nothing.
  const passThrough = await targets.startPassThrough(isWarm ? trace : [])
  const warmCached = isWarm ? await targets.startEndpoint(cacheMb, warmUp) : null
  const warmUncached = isWarm ? await targets.startEndpoint(0, warmUp) : null
  const warmCompared = isWarm ? await targets.startCompared(warmUp) : null
  const fewTexts = distinctTexts(trace)
  for (let round = 0; round < rounds; round++) {
    const cached = warmCached ?? (await targets.startEndpoint(cacheMb, []))
    await invalidateCaches(service)
    measurements.cached.push(await measure(cached.endpoint, trace, connections, cached.pid))
    if (!isWarm) await cached.stop()

    const uncached = warmUncached ?? (await targets.startEndpoint(0, []))
    measurements.direct.push(await measure(targets.direct, trace, connections))
    measurements.uncached.push(await measure(uncached.endpoint, trace, connections, uncached.pid))
    const compared = warmCompared ?? (await targets.startCompared([]))
    if (compared)
      measurements.compared.push(await measure(compared.endpoint, trace, connections, compared.pid))
    if (!isWarm) await compared?.stop()
    measurements.passThrough.push(
      await measure(passThrough.endpoint, trace, connections, passThrough.pid),
    )
    measurements.oneConnection.push(await measure(uncached.endpoint, fewTexts, 1, uncached.pid))
    measurements.oneConnectionDirect.push(await measure(targets.direct, fewTexts, 1))
    if (!isWarm) await uncached.stop()
    console.log(`round ${round + 1} of ${rounds} done`)
  }
  return measurements
}

function distinctTexts(trace: string[]): string[] {
  return [...new Set(trace)].slice(0, oneConnectionTexts)
}

function printMeasurements(measurements: Measurements): void {
  const { cached, uncached, compared, passThrough, direct, oneConnection, oneConnectionDirect } =
    measurements
  console.log(
    `\n10 connections, one pass${''.padEnd(12)}requests/s   p50 ms   p95 ms   ` +
      'PostgreSQL   API processor µs',
  )
  printMeasurement('endpoint, cache empty at first', cached)
  printMeasurement('endpoint, without cache', uncached)
  if (compared.length > 0) printMeasurement('other checkout, without cache', compared)
  printMeasurement('pass-through route', passThrough)
  printMeasurement('Meilisearch, the same requests', direct)
  const ratio = (other: Measurement[]) => {
    const ratios = other.map(({ perSecond }, round) => perSecond / (direct[round]?.perSecond ?? 1))
    const rounds = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
    return `${median(ratios).toFixed(2)} × direct (${rounds})`
  }
  console.log(
    `with cache ${ratio(cached)}, without ${ratio(uncached)}; ` +
      `pass-through route ${ratio(passThrough)}`,
  )
  console.log('\n1 connection, without cache')
  printMeasurement('endpoint', oneConnection)
  printMeasurement('Meilisearch, the same requests', oneConnectionDirect)
  const addedMs = medianOf(oneConnection).p95 - medianOf(oneConnectionDirect).p95
  console.log(`p95 ${addedMs.toFixed(2)} ms above direct`)
}

/** Prints one line with the medians of the rounds. */
function printMeasurement(name: string, rounds: Measurement[]): void {
  const { perSecond, p50, p95, fromDatabase, processorUs } = medianOf(rounds)
  const columns = [
    perSecond.toFixed(0).padStart(10),
    p50.toFixed(2).padStart(9),
    p95.toFixed(2).padStart(9),
    String(fromDatabase).padStart(13),
    processorUs.toFixed(0).padStart(19),
  ]
  console.log(name.padEnd(36) + columns.join(''))
}

async function measureDatabase(
  { db, searchPool: pool }: BenchService,
  texts: string[],
): Promise<Measurement> {
  console.log('\nPostgreSQL alone, 1 connection')
  return measure(
    async (text) => {
      const request = { text, query: parseQuery(text), limit: 8, offset: 0, facets: [] }
      await searchInPostgres({ db, pool }, request, new AbortController().signal)
      return answerFromDatabase
    },
    shuffle([...texts], seeded('fallback')).slice(0, databaseTexts),
    1,
  )
}

/** Starts the pass-through route in a process. */
async function startPassThroughRoute(
  { directory, meiliUrl, meiliKey }: BenchService,
  requests: Map<string, string>,
): Promise<Server> {
  const port = String(await choosePort('the pass-through route'))
  const file = join(directory, 'requests.json')
  await writeFile(file, JSON.stringify([...requests]))
  const program = join(import.meta.dirname, 'support/search-pass-through-route.ts')
  const route = startBenchProcess([program, meiliUrl, meiliKey, port, file])
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; !(await fetch(url).catch(() => null)); attempt++) {
    if (attempt > 200 || route.hasEnded()) throw new Error('The pass-through route did not start.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return { url, pid: route.pid, stop: route.stop }
}

/** Invalidates the caches as a change of the index does, and waits until the API has noticed. */
async function invalidateCaches({ db }: BenchService): Promise<void> {
  await sql`update search_indexes set version = version + 1`.execute(db)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}

function loadAverage(): string {
  return loadavg()
    .map((average) => average.toFixed(1))
    .join(' ')
}

/**
 * Sends each text once, over as many connections as given. `pid` is that of the API. After a
 * failure it sends no other text, waits for the requests that are running, and throws that failure.
 */
async function measure(
  target: Target,
  texts: string[],
  connections: number,
  pid = 0,
): Promise<Measurement> {
  const latencies: number[] = []
  const processorBefore = processorMicroseconds(pid)
  let fromDatabase = 0
  let next = 0
  const startedAt = performance.now()
  const sending = Array.from({ length: connections }, async () => {
    for (let text = texts[next++]; text !== undefined; text = texts[next++]) {
      const sentAt = performance.now()
      if ((await target(text)).includes(answerFromDatabase)) fromDatabase++
      latencies.push(performance.now() - sentAt)
    }
  })
  try {
    await Promise.all(sending)
  } catch (error) {
    next = texts.length
    await Promise.allSettled(sending)
    throw error
  }
  const seconds = (performance.now() - startedAt) / 1000
  const processorUs = (processorMicroseconds(pid) - processorBefore) / Math.max(1, texts.length)
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p95: quantile(latencies, 0.95),
    fromDatabase,
    processorUs,
  }
}

/** Resolves with the last 150 bytes of the body, which contain its `meta`. */
function sendRequest(
  agent: Agent,
  url: string,
  headers: Record<string, string>,
  body?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const json =
      body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(
      url,
      { agent, method: body === undefined ? 'GET' : 'POST', headers: { ...headers, ...json } },
      (response) => {
        let last = ''
        response.on('data', (chunk: Buffer) => {
          last = chunk.toString('latin1', Math.max(0, chunk.length - 150))
        })
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(last)
            : reject(new Error(`${response.statusCode} for ${url}: ${last}`)),
        )
      },
    )
    sent.on('error', (error) =>
      reject(new Error(`${describeError(error)} for ${url}`, { cause: error })),
    )
    sent.end(body)
  })
}

function medianOf(rounds: Measurement[]): Measurement {
  const medianOfField = (name: keyof Measurement) =>
    median(rounds.map((measurement) => measurement[name]))
  return {
    perSecond: medianOfField('perSecond'),
    p50: medianOfField('p50'),
    p95: medianOfField('p95'),
    fromDatabase: medianOfField('fromDatabase'),
    processorUs: medianOfField('processorUs'),
  }
}
