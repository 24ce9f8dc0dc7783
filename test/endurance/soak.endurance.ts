// Runs the API at full load for ten minutes (SOAK_MINUTES) and restarts PostgreSQL, Redis and
// Meilisearch twice each: no request fails outside the outages, and memory does not grow.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { openSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import type { RunningServer } from '../../scripts/servers/running-server.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { deriveSearchKey } from '../../src/indexing/keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { company, writeCompanyFile } from '../support/database/company.ts'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'

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
type Servers = Awaited<ReturnType<typeof startServers>>

t.setTimeout((minutes * 60 + 600) * 1_000)
t.test(`fails only during outages and keeps its memory flat for ${minutes} minutes`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-soak-'))
  await chmod(directory, 0o755)
  const servers = await startServers(t, directory)
  const db = openDatabase(servers.databaseUrl, { connections: 2 })
  const token = await insertData(db)
  const programs = await startPrograms(t, directory, servers)
  t.match(await untilReady(programs.opsUrl, ({ indexLagSeconds }) => indexLagSeconds !== null), {
    status: 'ready',
  })

  const { responses, failures, outages, memory } = await runLoad({
    t,
    db,
    servers,
    programs,
    token,
  })

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
  t.match(await untilReady(programs.opsUrl, ({ indexLagSeconds }) => indexLagSeconds === 0), {
    status: 'ready',
    indexLagSeconds: 0,
  })
  checkMemory(t, memory)

  for (const child of programs.children) child.kill('SIGTERM')
  t.same(await Promise.all(programs.exits), [0, 0])
  await db.destroy()
})

async function startServers(t: Test, directory: string) {
  const masterKey = randomBytes(24).toString('base64url')
  const ports = {
    postgres: await chooseFixedPort(),
    redis: await chooseFixedPort(),
    engine: await chooseFixedPort(),
  }
  const starters: Record<string, () => Promise<RunningServer | null>> = {
    PostgreSQL: () =>
      startPostgres({
        directory: join(directory, 'postgres'),
        port: ports.postgres,
        settings: { max_connections: '50' },
      }),
    Redis: () => startRedis({ directory: join(directory, 'redis'), port: ports.redis }),
    Meilisearch: () =>
      startMeilisearch({
        directory: join(directory, 'meilisearch'),
        port: ports.engine,
        masterKey,
      }),
  }
  const running = new Map<string, RunningServer>()
  const start = async (name: string): Promise<string> => {
    const server = await starters[name]?.()
    if (!server) throw new Error(`${name} cannot be started`)
    running.set(name, server)
    return server.url
  }
  t.teardown(async () => {
    for (const server of running.values()) await server.stop()
    await rm(directory, { recursive: true, force: true })
  })
  return {
    databaseUrl: await start('PostgreSQL'),
    redisUrl: await start('Redis'),
    meiliUrl: await start('Meilisearch'),
    masterKey,
    start,
    stop: async (name: string) => running.get(name)?.stop(),
  }
}

/** Inserts products and 200 quotes. Returns the token of a link to one of them. */
async function insertData(db: Database): Promise<string> {
  await migrate(db)
  await recordCompany(db, company)
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

type Programs = {
  url: string
  opsUrl: string
  logFile: string
  /** The API and the indexer. */
  children: [ChildProcess, ChildProcess]
  exits: Promise<number | null>[]
}

async function startPrograms(t: Test, directory: string, servers: Servers): Promise<Programs> {
  const companyFile = writeCompanyFile(directory)
  const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    MEILI_URL: servers.meiliUrl,
    MEILI_MASTER_KEY: servers.masterKey,
    MEILI_SEARCH_KEY: deriveSearchKey(servers.masterKey),
    ANONYMOUS_SCOPES: 'search:read,stats:read',
    SEARCH_LIMIT_PER_SECOND: '1000000',
    STATS_LIMIT_PER_MINUTE: '100000000',
    LINK_LIMIT_PER_MINUTE: '100000000',
    COMPANY_FILE: companyFile,
    // One line for each request would fill gigabytes.
    LOG_LEVEL: 'warn',
    PORT: String(port),
    OPS_PORT: String(opsPort),
  }
  const logFile = join(directory, 'log')
  const log = openSync(logFile, 'a')
  const start = (...args: string[]) =>
    spawnChild(process.execPath, args, {
      cwd: process.cwd(),
      env,
      stopSignal: 'SIGKILL',
      output: log,
    })
  const preload = join(import.meta.dirname, 'collect-on-signal.ts')
  const children: Programs['children'] = [
    start('--expose-gc', '--import', preload, 'src/server.ts'),
    start('scripts/indexer.ts'),
  ]
  const exits = children.map(
    (child) => new Promise<number | null>((resolve) => child.once('exit', resolve)),
  )
  // Registered last, so that it runs before the directory is removed.
  t.teardown(() => {
    for (const child of children) child.kill('SIGKILL')
    if (!t.passing()) t.comment(readFileSync(logFile, 'utf8').slice(-4_000))
  })
  const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`]
  return { url, opsUrl, logFile, children, exits }
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

type LoadOptions = { t: Test; db: Database; servers: Servers; programs: Programs; token: string }

/** Sends requests, changes data, restarts servers and samples memory, all at once. */
async function runLoad({ t, db, servers, programs, token }: LoadOptions) {
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
      const status = await getStatus(`${programs.url}${path}`, agent)
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
      await servers.stop(name)
      await sleep(downtimeMs)
      await servers.start(name)
      outages.push({ name, from, to: performance.now() })
    }
  }

  async function sampleMemory(): Promise<void> {
    const [api] = programs.children
    while (isRunning()) {
      await sleep(Math.min(10_000, minutes * 6_000))
      memory.push(await readMemory(programs.logFile, api.pid ?? 0))
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
