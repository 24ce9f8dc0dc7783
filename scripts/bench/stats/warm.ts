// Measures /api/stats with its caches, next to two Fastify routes that send the same bytes.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApiKey } from '../../../src/auth/api-keys.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { deriveSearchKey } from '../../../src/indexing/keys.ts'
import { choosePort } from '../../servers/free-port.ts'
import type { TestServers } from '../../servers/test-servers.ts'
import { type Load, measureMaximumLoad } from '../support/load/maximum-load.ts'
import { median } from '../support/load/quantile.ts'
import type { BenchDatabase } from './databases.ts'
import { company } from './generated-database.ts'

const root = join(import.meta.dirname, '../../..')
const serversScript = join(import.meta.dirname, '../support/processes/stats-servers.ts')

export type Warm = {
  database: BenchDatabase
  servers: TestServers
  directory: string
  /** The servers are added, so that the caller can end them. */
  children: ChildProcess[]
  seconds: number
  rounds: number
}

/** Prints the throughput of /api/stats next to the minimal route and the baseline route. */
export async function reportWarm({ seconds, rounds, ...service }: Warm): Promise<void> {
  const { cases, bodyBytes, stop } = await startCases(service)
  console.log(
    `\nwarm, ${bodyBytes} bytes, by autocannon, 20 connections, ` +
      `${rounds} rounds of ${seconds} s after a warm-up round`,
  )
  const loads = Object.fromEntries(Object.keys(cases).map((name) => [name, [] as Load[]]))
  for (let round = 0; round <= rounds; round += 1) {
    const isWarmUp = round === 0
    for (const [name, target] of Object.entries(cases)) {
      const load = await measureMaximumLoad({
        ...target,
        seconds: isWarmUp ? 1 : seconds,
        connections: 20,
      })
      if (load.failed > 0) throw new Error(`${name}: ${load.failed} requests failed.`)
      if (!isWarmUp) loads[name]?.push(load)
    }
  }
  stop()
  printLoads(loads)
  console.log(
    'bars: exempt at least 0.5 × minimal and 0.9 × baseline, limited at least 0.4 × minimal',
  )
}

type Case = { url: string; pid: number; headers: Record<string, string> }

/** Starts the servers and returns the requests to compare. All responses have the same body. */
async function startCases(
  service: Pick<Warm, 'database' | 'servers' | 'directory' | 'children'>,
): Promise<{ cases: Record<string, Case>; bodyBytes: number; stop(): void }> {
  const keys = await createKeys(service.database.unlimited)
  const authorization = `Bearer ${keys.exempt}`
  const log = openSync(join(service.directory, 'api.log'), 'w')
  const env = serverEnvironment(service, keys.exempt)
  const start = (more: Record<string, string>) =>
    startStatsServer({ ...env, ...more }, log, service)

  const firstServer = await start({})
  const bytes = await fetchStats(firstServer.url, authorization).then((response) =>
    response.arrayBuffer(),
  )
  firstServer.child.kill('SIGTERM')
  const body = { BENCH_BODY: Buffer.from(bytes).toString('base64') }
  const api = await start(body)
  const minimal = await start({ ...body, BENCH_SERVER: 'minimal' })
  const etag = (await fetchStats(api.url, authorization)).headers.get('etag') ?? ''

  const statsCase = (headers: Record<string, string>): Case => ({
    url: `${api.url}/api/stats`,
    pid: api.pid,
    headers,
  })
  return {
    cases: {
      minimal: { url: `${minimal.url}/minimal`, pid: minimal.pid, headers: {} },
      baseline: { url: `${api.url}/baseline`, pid: api.pid, headers: { authorization } },
      exempt: statsCase({ authorization }),
      limited: statsCase({ authorization: `Bearer ${keys.limited}` }),
      'exempt, 304': statsCase({ authorization, 'if-none-match': etag }),
      'exempt, gzip': statsCase({ authorization, 'accept-encoding': 'gzip' }),
    },
    bodyBytes: bytes.byteLength,
    stop: () => closeSync(log),
  }
}

/** Creates one key that is exempt from rate limits and one that is limited. */
async function createKeys(db: Database): Promise<{ exempt: string; limited: string }> {
  const key = { kind: 'secret' as const, scopes: ['stats:read' as const] }
  return {
    exempt: await createApiKey(db, { ...key, name: 'bench, exempt', unlimited: true }),
    limited: await createApiKey(db, { ...key, name: 'bench, limited' }),
  }
}

function serverEnvironment(
  { database, servers, directory }: Pick<Warm, 'database' | 'servers' | 'directory'>,
  key: string,
): NodeJS.ProcessEnv {
  const { seller, baseCurrency, timeZone } = company
  const companyFile = join(directory, 'company.json')
  writeFileSync(companyFile, JSON.stringify({ ...seller, baseCurrency, timeZone }))
  return {
    PATH: process.env.PATH,
    DATABASE_URL: database.url,
    REDIS_URL: servers.redisUrl,
    REDIS_PREFIX: `bench:${randomBytes(4).toString('hex')}:`,
    MEILI_URL: servers.meiliUrls[0],
    MEILI_SEARCH_KEY: deriveSearchKey(servers.meiliMasterKey),
    COMPANY_FILE: companyFile,
    // Requests are counted, but the limit is never reached.
    STATS_LIMIT_PER_MINUTE: '1000000000',
    BENCH_KEY: key,
  }
}

/** Starts support/stats-servers.ts and waits until it answers. */
async function startStatsServer(
  env: NodeJS.ProcessEnv,
  log: number,
  { directory, children }: Pick<Warm, 'directory' | 'children'>,
): Promise<{ url: string; pid: number; child: ChildProcess }> {
  const port = await choosePort('bench')
  const child = spawn(process.execPath, [serversScript], {
    cwd: root,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', log, log],
  })
  children.push(child)
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const isAnswering = await fetch(url).then(
      () => true,
      () => false,
    )
    if (isAnswering) return { url, pid: child.pid ?? 0, child }
    await sleep(50)
  }
  throw new Error(`A server did not start: see ${join(directory, 'api.log')}.`)
}

async function fetchStats(url: string, authorization: string): Promise<Response> {
  const headers = { authorization, 'accept-encoding': 'identity' }
  const response = await fetch(`${url}/api/stats`, { headers })
  if (!response.ok) throw new Error(`GET /api/stats: ${response.status} ${await response.text()}`)
  return response
}

/** Prints one line for each case: medians, and ratios to the two routes. */
function printLoads(loads: Record<string, Load[]>): void {
  const medianOf = (name: string, field: keyof Load) =>
    median((loads[name] ?? []).map((load) => load[field]))
  for (const name of Object.keys(loads)) {
    const ratios = ['minimal', 'baseline'].map((other) => {
      const speed = medianOf(name, 'perSecond') / medianOf(other, 'perSecond')
      const processor = medianOf(other, 'cpuMicroseconds') / medianOf(name, 'cpuMicroseconds')
      return `${speed.toFixed(2)} × ${other} (by processor time ${processor.toFixed(2)})`
    })
    const columns = [
      name.padEnd(13),
      `${Math.round(medianOf(name, 'perSecond')).toString().padStart(7)}/s`,
      `p99 ${medianOf(name, 'p99Ms').toFixed(1).padStart(6)} ms`,
      `${medianOf(name, 'cpuMicroseconds').toFixed(1).padStart(5)} µs of processor time`,
      ...ratios,
    ]
    console.log(columns.join('  '))
  }
}
