// Runs the API at full load for ten minutes (SOAK_MINUTES) and restarts PostgreSQL, Redis and
// Meilisearch twice each: no request fails outside the outages, and memory does not grow.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { prepareSchema } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { startEngine, startPrograms } from '../support/service/installation.ts'
import { runServer, type ServiceProcess } from '../support/service/service-process.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const minutes = Number(process.env.SOAK_MINUTES ?? 10)
const clientCount = 16
const productCount = 2_000
/**
 * A failure this long after a server is back still belongs to its outage: clients reconnect, and
 * circuit breakers probe every second.
 */
const recoveryMs = 5_000
const downtimeMs = 2_000
const writeIntervalMs = 200
const readyTimeoutMs = 60_000
const restartOrder = ['Redis', 'Meilisearch', 'PostgreSQL', 'Redis', 'Meilisearch', 'PostgreSQL']

type Outage = { name: string; from: number; to: number }
type Failure = { at: number; url: string; status: number }
type MemorySample = { heapBytes: number; residentBytes: number }

t.setTimeout((minutes * 60 + 600) * 1_000)
t.test(`fails only during outages and keeps its memory flat for ${minutes} minutes`, async (t) => {
  const soaked = await startSoaked(t)
  const { opsUrl, logFile, unexpectedExits } = soaked
  t.teardown(() => {
    if (!t.passing()) t.comment(readFileSync(logFile, 'utf8').slice(-4_000))
  })
  t.match(await untilReady(opsUrl, ({ indexLagSeconds }) => indexLagSeconds !== null), {
    status: 'ready',
  })

  const { responses, failures, outages, memory } = await runLoad(t, soaked)

  const isInOutage = ({ at }: Failure) =>
    outages.some(({ from, to }) => at >= from && at <= to + recoveryMs)
  const unexcused = failures.filter((failure) => !isInOutage(failure))
  printFailures(responses, failures.length, unexcused.length, outages)
  t.same(
    unexcused.slice(0, 10),
    [],
    `${unexcused.length} of ${responses} responses failed outside an outage`,
  )
  t.equal(outages.length, restartOrder.length)
  t.match(await untilReady(opsUrl, ({ indexLagSeconds }) => indexLagSeconds === 0), {
    status: 'ready',
    indexLagSeconds: 0,
  })
  checkMemory(t, memory)
  t.same(unexpectedExits, [])
})

/** Starts an API process and an indexer on servers with some data. They end with the test. */
async function startSoaked(t: Test) {
  const directory = createTemporaryDirectory(t, 'soak')
  const ports = { postgres: await chooseFixedPort(), redis: await chooseFixedPort() }
  const postgres = await runServer(() =>
    startPostgres({
      directory: join(directory, 'postgres'),
      port: ports.postgres,
      settings: { max_connections: '50' },
    }),
  )
  t.teardown(() => postgres.process.stop())
  const redis = await runServer(async () => {
    const server = await startRedis({ directory: join(directory, 'redis'), port: ports.redis })
    if (!server) throw new Error('Install redis-server or valkey-server.')
    return server
  })
  t.teardown(() => redis.process.stop())
  const engine = await startEngine(directory, 'main')
  t.teardown(() => engine.process.stop())
  const databaseUrl = postgres.server.url
  await prepareSchema(databaseUrl)
  const db = openDatabase(databaseUrl, { connections: 2 })
  t.teardown(() => db.destroy())
  const token = await insertData(db)
  const preload = join(import.meta.dirname, 'collect-on-signal.ts')
  const unlimited = '100000000'
  const programs = await startPrograms(
    directory,
    { databaseUrl, redisUrl: redis.server.url, engines: [engine] },
    {
      count: 1,
      flags: ['--expose-gc', '--import', preload],
      env: {
        SEARCH_LIMIT_PER_SECOND: unlimited,
        STATS_LIMIT_PER_MINUTE: unlimited,
        LINK_LIMIT_PER_MINUTE: unlimited,
      },
    },
  )
  t.teardown(() => programs.stop())
  const [api] = programs.apis
  if (!api) throw new Error('The API did not start.')
  const servers: Record<string, ServiceProcess> = {
    PostgreSQL: postgres.process,
    Redis: redis.process,
    Meilisearch: engine.process,
  }
  const { unexpectedExits } = programs
  return { ...api, db, token, servers, unexpectedExits, logFile: programs.logFile('api-1') }
}

/** Inserts products and 200 quotes. Returns the token of a link to one of them. */
async function insertData(db: Database): Promise<string> {
  await db
    .insertInto('products')
    .values(
      Array.from({ length: productCount }, (_, n) => ({
        sku: `AB-${n}`,
        name: `Martillo de bola ${n}`,
        category: `Herramientas ${n % 7}`,
      })),
    )
    .execute()
  for (let n = 0; n < 200; n += 1) {
    await addQuote(db, `P-${n}`, {
      status: n % 2 ? 'accepted' : 'sent',
      decided_on: n % 2 ? '2026-11-05' : null,
      country: ['ES', 'FR', 'DE'][n % 3] ?? null,
    })
  }
  return createQuoteLink(db, { number: 'P-0' })
}

type Readiness = { status: string; indexLagSeconds: number | null }

async function untilReady(
  opsUrl: string,
  isIndexed: (readiness: Readiness) => boolean,
): Promise<Readiness> {
  return eventually(
    () =>
      fetch(`${opsUrl}/health/ready`).then(
        (response) => response.json() as Promise<Readiness>,
        () => ({ status: 'unreachable', indexLagSeconds: null }),
      ),
    (readiness) => readiness.status === 'ready' && isIndexed(readiness),
    readyTimeoutMs,
  )
}

/** Sends requests, changes data, restarts servers and samples memory, all at once. */
async function runLoad(t: Test, soaked: Awaited<ReturnType<typeof startSoaked>>) {
  const { url, process: api, db, servers, token, logFile } = soaked
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount })
  t.teardown(() => agent.destroy())
  const failures: Failure[] = []
  const outages: Outage[] = []
  const memory: MemorySample[] = []
  const endsAt = performance.now() + minutes * 60_000
  let responses = 0
  let isOver = false
  const isRunning = () => !isOver && performance.now() < endsAt

  async function sendRequests(client: number): Promise<void> {
    for (let n = client; isRunning(); n += 1) {
      const path = requestPath(n, token)
      const status = await getStatus(`${url}${path}`, agent)
      responses += 1
      if (status !== 200)
        failures.push({ at: performance.now(), url: path.replace(token, '…'), status })
    }
  }

  /** Keeps the caches and the index busy. Writes fail while PostgreSQL is down. */
  async function changeProducts(): Promise<void> {
    for (let n = 0; isRunning(); n += 1) {
      await db
        .updateTable('products')
        .set({ name: `Martillo de bola ${n}` })
        .where('sku', '=', `AB-${n % productCount}`)
        .execute()
        .catch(() => undefined)
      await sleep(writeIntervalMs)
    }
  }

  async function restartServers(): Promise<void> {
    const intervalMs = (minutes * 60_000) / (restartOrder.length + 2)
    for (const name of restartOrder) {
      await sleep(intervalMs - downtimeMs)
      if (isOver) return
      const from = performance.now()
      await servers[name]?.restart(downtimeMs)
      outages.push({ name, from, to: performance.now() })
    }
  }

  async function sampleMemory(): Promise<void> {
    while (isRunning()) {
      await sleep(Math.min(10_000, minutes * 6_000))
      memory.push(await readMemory(logFile, api.pid ?? 0))
    }
  }

  const tasks = [
    ...Array.from({ length: clientCount }, (_, client) => sendRequests(client)),
    changeProducts(),
    restartServers(),
    sampleMemory(),
  ]
  try {
    await Promise.all(tasks)
  } finally {
    // If one task fails, the others must end before the servers are stopped.
    isOver = true
    await Promise.allSettled(tasks)
  }
  return { responses, failures, outages, memory }
}

/** The path of request `n`: half of them search, a quarter each reads statistics and a quote. */
function requestPath(n: number, token: string): string {
  const texts = ['martillo', 'bola', `ab-${n % productCount}`, 'martilo', 'herr']
  const month = String(1 + (n % 9)).padStart(2, '0')
  const paths = [
    `/api/search?q=${texts[n % texts.length]}`,
    `/api/search?q=martillo+${n % 500}`,
    n % 2 ? '/api/stats' : `/api/stats?from=2026-${month}-01&to=2026-12-31`,
    `/quote/share/${token}?format=${n % 50 === 3 ? 'pdf' : n % 3 ? 'json' : 'html'}`,
  ]
  return paths[n % paths.length] ?? ''
}

function printFailures(
  responses: number,
  failures: number,
  unexcused: number,
  outages: Outage[],
): void {
  const durations = outages.map(
    ({ name, from, to }) => `${name} ${((to - from) / 1_000).toFixed(1)} s`,
  )
  console.error(
    `${responses} responses (${Math.round(responses / minutes / 60)}/s), ${failures} failed, ` +
      `${unexcused} of them outside the outages of ${durations.join(', ')}`,
  )
}

/** Compares the third with the last quarter of the samples: by then all caches have been filled. */
function checkMemory(t: Test, samples: MemorySample[]): void {
  const warm = samples.slice(Math.floor(samples.length / 2))
  const [early, late] = [
    warm.slice(0, Math.ceil(warm.length / 2)),
    warm.slice(Math.ceil(warm.length / 2)),
  ]
  const heapMb = (part: MemorySample[]) => median(part.map(({ heapBytes }) => heapBytes)) / 1e6
  const residentMb = (part: MemorySample[]) =>
    median(part.map(({ residentBytes }) => residentBytes)) / 1e6
  const heap = `${heapMb(early).toFixed(1)} MB, then ${heapMb(late).toFixed(1)} MB`
  const resident = `${residentMb(early).toFixed(0)} MB, then ${residentMb(late).toFixed(0)} MB`
  console.error(`heap after garbage collection ${heap}; resident ${resident}`)
  const all = (values: number[], digits: number) =>
    values.map((bytes) => (bytes / 1e6).toFixed(digits)).join(' ')
  console.error(
    `heap, MB: ${all(
      samples.map(({ heapBytes }) => heapBytes),
      1,
    )}; resident, MB: ${all(
      samples.map(({ residentBytes }) => residentBytes),
      0,
    )}`,
  )
  t.ok(heapMb(late) < heapMb(early) * 1.1 + 3, `the heap does not grow: ${heap}`)
  t.ok(
    residentMb(late) < residentMb(early) * 1.15 + 10,
    `the resident memory does not grow: ${resident}`,
  )
}

/** Has the process collect garbage, and reads the memory that it prints afterwards. */
async function readMemory(logFile: string, pid: number): Promise<MemorySample> {
  const printed = () => [...readFileSync(logFile, 'utf8').matchAll(/^MEMORY (\d+) (\d+)$/gm)]
  const before = printed().length
  process.kill(pid, 'SIGWINCH')
  const lines = await eventually(
    async () => printed(),
    (lines) => lines.length > before,
  )
  const [, heap, resident] = lines.at(-1) ?? []
  return { heapBytes: Number(heap), residentBytes: Number(resident) }
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Returns the status, or 0 if no response arrived. */
function getStatus(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    request(url, { agent }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
      response.once('error', () => resolve(0))
    })
      .once('error', () => resolve(0))
      .end()
  })
}
