// What all benchmarks share: servers, a database with products, the service as a process, baselines,
// load by autocannon, and results with bars.
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { deriveSearchKey, ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { registerIndex } from '../../src/indexing/registration.ts'
import { nameWithVersion } from '../../src/search-engine/index-name.ts'
import { rebuildIndex } from '../../test/support/database/leased-target.ts'
import { choosePort } from '../servers/free-port.ts'
import { startTestServers, type TestServers } from '../servers/servers.ts'
import { spawnProgram } from '../servers/service.ts'
import type { Product } from './data/catalogues.ts'

export const root = join(import.meta.dirname, '../..')
export const companyFile = join(root, 'company.example.json')

export type Bar = { atMost: number } | { atLeast: number }

/** A result beside its bar. A ratio is that of two measurements of the same run. */
export type Measured = {
  what: string
  value: number
  unit: '×' | 'ms' | 's' | 'lines/s' | 'share' | 'kB' | ''
  bar?: Bar
  /** The values behind a ratio, or what else belongs to it. */
  detail?: string
}

/** Times of answers at a fixed rate, in ms. */
export type Times = { what: string; requests: number; failed: number; times: number[] }

export type Bench = {
  servers: TestServers
  directory: string
  /** Returns `full`, or `small` if the run only shows that everything works. */
  size(full: number, small: number): number
  report(measured: Measured): void
  reportTimes(times: Times): void
  reportFaults(tables: string): void
  /** Called in reverse order when the benchmark ends. */
  atEnd(close: () => unknown): void
}

/** `faults`: the tables of the cluster test as Markdown. */
export type BenchRun = { measured: Measured[]; times: Times[]; faults?: string }

/** Runs one benchmark on its own servers. Prints each result when it is known. */
export async function runBench(
  measure: (bench: Bench) => Promise<void>,
  isSmall: boolean,
): Promise<BenchRun> {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  // As root the servers run under another account, which must be able to enter.
  await chmod(directory, 0o755)
  const run: BenchRun = { measured: [], times: [] }
  const closers: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })]
  try {
    const servers = await startTestServers(directory, 1)
    closers.push(() => servers.stop())
    await measure({
      servers,
      directory,
      size: (full, small) => (isSmall ? small : full),
      report({ bar, ...result }) {
        // Little data says nothing about a bar.
        const measured = { ...result, ...(bar && !isSmall && { bar }) }
        run.measured.push(measured)
        console.log(`  ${formatMeasured(measured)}`)
      },
      reportTimes(times) {
        run.times.push(times)
        console.log(`  ${times.what}: ${formatTimes(times)}`)
      },
      reportFaults: (tables) => void Object.assign(run, { faults: tables }),
      atEnd: (close) => void closers.push(close),
    })
  } finally {
    for (const close of closers.reverse()) await close()
  }
  return run
}

export function isMissed({ value, bar }: Measured): boolean {
  if (bar === undefined) return false
  return !('atMost' in bar ? value <= bar.atMost : value >= bar.atLeast)
}

export function formatBar(bar: Bar): string {
  return 'atMost' in bar ? `at most ${bar.atMost}` : `at least ${bar.atLeast}`
}

export function formatValue({ value, unit }: Measured): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return `${value.toLocaleString('en', options)} ${unit}`.trim()
}

function formatMeasured(measured: Measured): string {
  const { what, bar, detail } = measured
  const judged = bar && ` (bar: ${formatBar(bar)}${isMissed(measured) ? ', MISSED' : ''})`
  return `${what}: ${formatValue(measured)}${judged ?? ''}${detail ? `; ${detail}` : ''}`
}

function formatTimes({ times, failed }: Times): string {
  const ms = (share: number) => quantile(times, share).toFixed(1)
  return `p50 ${ms(0.5)} ms, p95 ${ms(0.95)} ms, p99 ${ms(0.99)} ms, ${failed} failed`
}

/** Returns the value below which `share` of the values lie, or NaN if there are none. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const median = (values: number[]) => quantile(values, 0.5)

/** Returns how long the work takes, in ms. */
export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

export type BenchDatabase = { db: Database; databaseUrl: string }

/** Creates a database with the schema and the company. */
export async function createDatabase(bench: Bench, name: string): Promise<BenchDatabase> {
  const admin = openDatabase(bench.servers.databaseUrl, { connections: 1 })
  await sql`create database ${sql.id(name)}`.execute(admin)
  await admin.destroy()
  const databaseUrl = new URL(name, bench.servers.databaseUrl).href
  const db = openDatabase(databaseUrl, { connections: 4 })
  bench.atEnd(() => db.destroy())
  await migrate(db)
  await recordCompany(db, readCompany(companyFile))
  return { db, databaseUrl }
}

export type BenchService = BenchDatabase & {
  engine: Meilisearch
  indexName: string
  meiliUrl: string
  meiliKey: string
  /** The header of a key without a rate limit. */
  headers: Record<string, string>
}

/** Creates a database with these products, and indexes them if there are any. */
export async function createService(
  bench: Bench,
  name: string,
  products: Product[] = [],
): Promise<BenchService> {
  const { meiliUrls, meiliMasterKey } = bench.servers
  const { db, databaseUrl } = await createDatabase(bench, name)
  for (let start = 0; start < products.length; start += 5_000)
    await db
      .insertInto('products')
      .values(products.slice(start, start + 5_000))
      .execute()
  await sql`analyze`.execute(db)
  const meiliUrl = meiliUrls[0] ?? ''
  const engine = openIndexingClient(meiliUrl, meiliMasterKey)
  const indexName = nameWithVersion(name)
  await ensurePermanentKeys(engine)
  const registrationName = nameWithVersion('main')
  await registerIndex(db, registrationName)
  await rebuildIndex({ db, client: engine, indexName, registrationName })
  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'bench',
    scopes: ['search:read', 'stats:read'],
    unlimited: true,
  })
  const headers = { authorization: `Bearer ${key}` }
  const meiliKey = deriveSearchKey(meiliMasterKey)
  return { db, databaseUrl, engine, indexName, meiliUrl, meiliKey, headers }
}

export type Server = { url: string; pid: number; stop(): Promise<void> }

const unlimited = '1000000000'

/** Starts the API as in production, with limits that nobody reaches. */
export async function startApi(
  bench: Bench,
  name: string,
  { databaseUrl, meiliUrl, meiliKey }: BenchService,
  env: Record<string, string> = {},
): Promise<Server> {
  return startServer(bench, ['src/server.ts'], '/api/search', {
    DATABASE_URL: databaseUrl,
    REDIS_URL: bench.servers.redisUrl,
    REDIS_PREFIX: `${name}:`,
    MEILI_URL: meiliUrl,
    MEILI_SEARCH_KEY: meiliKey,
    SEARCH_INDEX: name,
    COMPANY_FILE: companyFile,
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
    STATS_LIMIT_PER_MINUTE: unlimited,
    LINK_LIMIT_PER_MINUTE: unlimited,
    LINK_GUESS_LIMIT_PER_MINUTE: unlimited,
    ...env,
  })
}

/** Starts a route of baseline.ts, which does the same without our code. */
export function startBaseline(bench: Bench, route: string, ...args: string[]): Promise<Server> {
  const program = join(import.meta.dirname, 'baseline.ts')
  return startServer(bench, [program, route, ...args], '/', {})
}

/** Starts a server that listens on PORT. It ends with the benchmark, however that ends. */
async function startServer(
  bench: Bench,
  words: string[],
  path: string,
  env: Record<string, string>,
): Promise<Server> {
  const port = String(await choosePort('a measured server'))
  const child = spawnProgram(words, { PORT: port, ...env }, { stopSignal: 'SIGTERM', output: 2 })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const stop = async () => {
    if (hasEnded()) return
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  }
  bench.atEnd(stop)
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url + path).catch(() => null))) {
    if (hasEnded()) throw new Error(`${words.join(' ')} did not start.`)
    await sleep(50)
  }
  return { url, pid: child.pid ?? 0, stop }
}

export type BenchRequest = {
  method?: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}
export type Target = { url: string; requests: BenchRequest[] }
/** `times` are those of the answers in ms. `failed` are those that were not 200. */
export type Load = { perSecond: number; times: number[]; failed: number }

type Client = { setRequests(requests: BenchRequest[]): void }
type Instance = PromiseLike<{ duration: number; errors: number }> & {
  on(
    event: 'response',
    heard: (client: Client, status: number, bytes: number, ms: number) => void,
  ): void
}
// autocannon has no types.
const autocannon = createRequire(import.meta.url)('autocannon') as (options: {
  url: string
  connections: number
  duration?: number
  amount?: number
  overallRate?: number
  setupClient(client: Client): void
}) => Instance

/**
 * Sends every request once, or the requests in turn for `seconds`. The connections share the
 * requests. With `perSecond`, requests are sent at that rate.
 */
export async function load(
  { url, requests }: Target,
  {
    connections = 10,
    seconds,
    perSecond,
  }: { connections?: number; seconds?: number; perSecond?: number } = {},
): Promise<Load> {
  const times: number[] = []
  const used = Math.min(connections, requests.length)
  // autocannon gives each connection the same number of requests.
  const amount = requests.length - (requests.length % used)
  let [failed, started] = [0, 0]
  const startedAt = performance.now()
  let lastAt = startedAt
  const running = autocannon({
    url,
    connections: seconds === undefined ? used : connections,
    ...(seconds === undefined ? { amount } : { duration: seconds }),
    ...(perSecond !== undefined && { overallRate: perSecond }),
    setupClient(client) {
      const first = started++ % used
      client.setRequests(requests.filter((_, n) => n % used === first))
    },
  })
  running.on('response', (_client, status, _bytes, ms) => {
    times.push(ms)
    lastAt = performance.now()
    if (status !== 200 && status !== 304) failed += 1
  })
  const { errors } = await running
  const elapsedSeconds = (lastAt - startedAt) / 1_000
  return { perSecond: times.length / elapsedSeconds, times, failed: failed + errors }
}

/** Measures times of answers at a rate far below the limit, after a warm-up. */
export async function measureTimes(
  bench: Bench,
  what: string,
  { url, requests }: Target,
): Promise<void> {
  const [connections, perSecond] = [10, 50]
  const warmUp = requests.length >> 2
  await load({ url, requests: requests.slice(0, warmUp) }, { connections, perSecond })
  const measured = { url, requests: requests.slice(warmUp) }
  const { times, failed } = await load(measured, { connections, perSecond })
  bench.reportTimes({ what, requests: times.length, failed, times })
}

/**
 * Measures the targets in turns, after a round that warms them up, and returns the median of the
 * answers a second of each. Throws if a request failed.
 */
export async function compare<Name extends string>(
  targets: Record<Name, Target>,
  rounds: number,
  options: { connections?: number; seconds?: number; before?: () => Promise<unknown> } = {},
): Promise<Record<Name, number>> {
  const names = Object.keys(targets) as Name[]
  const rates = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    Name,
    number[]
  >
  for (let round = 0; round <= rounds; round++)
    for (const name of names) {
      await options.before?.()
      const { perSecond, failed } = await load(targets[name], options)
      if (failed > 0) throw new Error(`${name}: ${failed} requests failed.`)
      if (round > 0) rates[name].push(perSecond)
    }
  return Object.fromEntries(names.map((name) => [name, median(rates[name])])) as Record<
    Name,
    number
  >
}

/** Reports the ratio of two rates. */
export function reportRatio(
  bench: Bench,
  what: string,
  [ours, reference]: [number, number],
  bar: Bar,
): void {
  const whole = (rate: number) => Math.round(rate).toLocaleString('en')
  const detail = `${whole(ours)}/s of ${whole(reference)}/s`
  bench.report({ what, value: ours / reference, unit: '×', bar, detail })
}
