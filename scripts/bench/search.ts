// How fast search is: a keystroke trace against the endpoint, with and without its memory, and the same requests straight to the engine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { searchProducts } from '../../src/search/engine-search.ts'
import { searchDatabase } from '../../src/search/postgres-fallback.ts'
import type { EngineQuery } from '../../src/search-engine/engine-client.ts'
import { openSearchEngine } from '../../src/search-engine/engine-client.ts'
import { runCommand } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { type ApiProcess, startApi } from './support/api-process.ts'
import { type BenchService, benchServers, benchService } from './support/bench-service.ts'
import { crossedCatalogue } from './support/catalogues.ts'
import { processorMicroseconds } from './support/cpu-time.ts'
import { keystrokes } from './support/keystroke-trace.ts'
import { seeded, shuffle } from './support/seeded-random.ts'

const help = `
Usage: node scripts/bench/search.ts [--keystrokes N] [--products N] [--rounds N] [--cold]

Types product names key by key, products drawn by Zipf's law (s = 1) from a made catalogue: one pass at 10 connections against the endpoint with
an empty memory, against the endpoint without memory, and straight against Meilisearch with the very requests that the endpoint sends; also through a
Fastify route that does nothing but pass them on, which is as near to direct as a service of this shape comes on the same cores. Prints
requests a second, latencies, how many answers came from PostgreSQL instead, processor time of the API, and the ratios; then latencies at one
connection without memory, and those of PostgreSQL when it answers alone. They are measured in turns, and each figure is the median of the
rounds. As Meilisearch was asked before, so is the API: it is warmed up with other keystrokes, and then forgets all answers, as at any change.

--cold leaves the warming out: freshly started processes for each round.

  --keystrokes N   length of the trace (6000)
  --products N     size of the catalogue (50000)
  --rounds N       how often everything is measured (3)
`

const options = {
  keystrokes: { type: 'string', default: '6000' },
  products: { type: 'string', default: '50000' },
  rounds: { type: 'string', default: '3' },
  cold: { type: 'boolean', default: false },
} as const

/** A service runs for weeks: after fewer its code is still being compiled, which the first round would show. */
const warmingPasses = 3

await runCommand(help, options, async (values) => {
  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const products = await crossedCatalogue(Number(values.products))
    const trace = keystrokes(products, Number(values.keystrokes))
    const warming = values.cold ? [] : keystrokes(products, warmingPasses * trace.length, 'warming')
    console.log(`Indexing ${products.length} products ...`)
    const service = await benchService(servers, 'titles', products)
    try {
      await report(service, trace, warming, Number(values.rounds))
    } finally {
      await service.close()
    }
  } finally {
    await servers.stop()
  }
  return 0
})

/** Answers the bytes at the end of a body. */
type Target = (text: string) => Promise<string>
type Figures = {
  perSecond: number
  p50: number
  p95: number
  fromDatabase: number
  processorUs: number
}
type Server = Pick<ApiProcess, 'url' | 'pid' | 'stop'>
type Turn = { endpoint: Target; pid: number; stop(): Promise<void> }

async function report(
  service: BenchService,
  trace: string[],
  warming: string[],
  rounds: number,
): Promise<void> {
  const { sent, twice } = await sentRequests(service, trace)
  console.log(
    `${trace.length} keystrokes, ${sent.size} different, of which ${twice} took a second request; load ${load()}`,
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const direct: Target = (text) =>
    ask(
      agent,
      `${service.meiliUrl}/multi-search`,
      { authorization: `Bearer ${service.meiliKey}` },
      sent.get(text) ?? '',
    )

  async function warmedUp({ url, pid, stop }: Server, texts: string[]): Promise<Turn> {
    const endpoint: Target = (text) =>
      ask(agent, `${url}/api/search?q=${encodeURIComponent(text)}`, {
        authorization: service.authorization,
      })
    await run(endpoint, texts, 10)
    return { endpoint, pid, stop }
  }
  const startTurn = async (memoryMb: number) =>
    warmedUp(await startApi(service, { SEARCH_CACHE_MB: String(memoryMb) }), warming)
  // It knows the requests of the trace alone, and remembers nothing.
  const naked = await warmedUp(await startNaked(service, sent), warming.length > 0 ? trace : [])

  const uncached = [...new Set(trace)].slice(0, 1500)
  const figures = {
    memory: [] as Figures[],
    plain: [] as Figures[],
    naked: [] as Figures[],
    direct: [] as Figures[],
    one: [] as Figures[],
    oneDirect: [] as Figures[],
  }
  const kept =
    warming.length > 0 ? { remembering: await startTurn(32), plain: await startTurn(0) } : null
  for (let round = 0; round < rounds; round++) {
    const remembering = kept?.remembering ?? (await startTurn(32))
    await emptyMemories(service)
    figures.memory.push(await run(remembering.endpoint, trace, 10, remembering.pid))
    if (!kept) await remembering.stop()
    const plain = kept?.plain ?? (await startTurn(0))
    figures.direct.push(await run(direct, trace, 10))
    figures.plain.push(await run(plain.endpoint, trace, 10, plain.pid))
    figures.naked.push(await run(naked.endpoint, trace, 10, naked.pid))
    figures.one.push(await run(plain.endpoint, uncached, 1, plain.pid))
    figures.oneDirect.push(await run(direct, uncached, 1))
    if (!kept) await plain.stop()
    console.log(`round ${round + 1} of ${rounds} done`)
  }
  await kept?.remembering.stop()
  await kept?.plain.stop()
  await naked.stop()
  agent.destroy()

  console.log(
    `\n10 connections, one pass${''.padEnd(12)}requests/s   p50 ms   p95 ms   PostgreSQL   API's processor µs`,
  )
  const show = (name: string, all: Figures[]) => {
    const { perSecond, p50, p95, fromDatabase, processorUs } = middle(all)
    const columns = [
      perSecond.toFixed(0).padStart(10),
      p50.toFixed(2).padStart(9),
      p95.toFixed(2).padStart(9),
    ]
    console.log(
      name.padEnd(36) +
        columns.join('') +
        String(fromDatabase).padStart(13) +
        processorUs.toFixed(0).padStart(20),
    )
  }
  show('endpoint, memory empty at first', figures.memory)
  show('endpoint, without memory', figures.plain)
  show('Fastify, passing them on', figures.naked)
  show('Meilisearch, the same requests', figures.direct)
  const ratios = (other: Figures[]) =>
    other.map(({ perSecond }, round) => perSecond / (figures.direct[round]?.perSecond ?? 1))
  const ratio = (other: Figures[]) => {
    const all = ratios(other)
    return `${median(all).toFixed(2)} × direct (${all.map((one) => one.toFixed(2)).join(', ')})`
  }
  console.log(
    `with memory ${ratio(figures.memory)}, without ${ratio(figures.plain)}; passed on ${ratio(figures.naked)}`,
  )
  console.log('\n1 connection, nothing remembered')
  show('endpoint', figures.one)
  show('Meilisearch, the same requests', figures.oneDirect)
  console.log(
    `p95 ${(middle(figures.one).p95 - middle(figures.oneDirect).p95).toFixed(2)} ms above direct`,
  )

  console.log('\nPostgreSQL alone, 1 connection')
  const database = await run(
    async (text) => {
      await searchDatabase(service.db, { text, limit: 8, offset: 0, facets: [] })
      return '"source":"database"'
    },
    shuffle([...uncached], seeded('fallback')).slice(0, 400),
    1,
  )
  show('searchDatabase', [database])
  console.log(`\nload ${load()}`)
}

/** The Fastify route that only passes on, as a process of its own. */
async function startNaked(
  { directory, meiliUrl, meiliKey }: BenchService,
  sent: Map<string, string>,
): Promise<Server> {
  const port = String(await choosePort('the route that passes on'))
  const file = join(directory, 'requests.json')
  await writeFile(file, JSON.stringify([...sent]))
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'support/search-pass-through-server.ts'),
      meiliUrl,
      meiliKey,
      port,
      file,
    ],
    {
      stdio: 'inherit',
    },
  )
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; !(await fetch(url).catch(() => null)); attempt++) {
    if (attempt > 200 || child.exitCode !== null)
      throw new Error('The route that passes on did not start.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** As a change does: what was remembered of the index before is no answer any more. */
async function emptyMemories({ db }: BenchService): Promise<void> {
  await sql`update search_engines set version = version + 1`.execute(db)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}

function load(): string {
  return loadavg()
    .map((average) => average.toFixed(1))
    .join(' ')
}

/** What the endpoint sends to the engine for each text: recorded from the function that sends it. `twice`: how many texts it asks a second time for. */
async function sentRequests({ meiliUrl, meiliKey, indexName }: BenchService, trace: string[]) {
  const engine = openSearchEngine(meiliUrl, meiliKey)
  const sent = new Map<string, string>()
  let twice = 0
  for (const text of new Set(trace)) {
    let first: EngineQuery[] | undefined
    const recording = {
      ...engine,
      search(queries: EngineQuery[], signal: AbortSignal) {
        if (first) twice++
        first ??= queries
        return engine.search(queries, signal)
      },
    }
    await searchProducts(
      recording,
      indexName,
      { text: text.trim(), limit: 8, offset: 0, facets: [] },
      AbortSignal.timeout(60_000),
    )
    sent.set(text, JSON.stringify({ queries: first }))
  }
  engine.close()
  return { sent, twice }
}

async function run(
  target: Target,
  texts: string[],
  connections: number,
  pid = 0,
): Promise<Figures> {
  const latencies: number[] = []
  const processorBefore = processorMicroseconds(pid)
  let fromDatabase = 0
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let text = texts[next++]; text !== undefined; text = texts[next++]) {
        const askedAt = performance.now()
        if ((await target(text)).includes('"source":"database"')) fromDatabase++
        latencies.push(performance.now() - askedAt)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  const processorUs = (processorMicroseconds(pid) - processorBefore) / Math.max(1, texts.length)
  return {
    perSecond: latencies.length / seconds,
    p50: at(0.5),
    p95: at(0.95),
    fromDatabase,
    processorUs,
  }
}

function ask(
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
            : reject(new Error(`${response.statusCode} for ${url}`)),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

function middle(all: Figures[]): Figures {
  const of = (name: keyof Figures) => median(all.map((figures) => figures[name]))
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p95: of('p95'),
    fromDatabase: of('fromDatabase'),
    processorUs: of('processorUs'),
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
