// Measures /api/stats without and with its caches, and what the triggers cost a bulk insert.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { readCompany, recordCompany } from '../../src/company/company.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { searchKey } from '../../src/indexing/engine-keys.ts'
import { assembleStats } from '../../src/stats/assemble-stats.ts'
import { totalsFromQuotes } from '../../src/stats/summary/stats-from-quotes.ts'
import { readStats } from '../../src/stats/summary/stats-from-summary.ts'
import { runCommand } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { startServers, type TestServers } from '../servers/test-servers.ts'
import { processorMicroseconds } from './support/cpu-time.ts'
import { generateQuotes, insertGenerated, lastDay } from './support/generated-quotes.ts'
import { hasWrk, type Load, measureMaximumLoad } from './support/maximum-load.ts'
import { median, quantile } from './support/quantile.ts'

const help = `
Usage: node scripts/bench/stats.ts [--quotes 10000,1000000] [--seconds N] [--rounds N]
                                   [--only cold,triggers,warm]

Starts PostgreSQL and Redis in a temporary directory, with generated quotes (six years, forty
countries, three currencies), and measures:

  cold      p95 of computing the statistics without any cache, for the queries of a dashboard
            and for each number of quotes, next to plain aggregates over the same quotes. Add
            10000000 to --quotes for the largest, which takes about ten minutes to generate.
  triggers  quotes a second of a bulk insert, with and without the triggers of the summary.
  warm      requests a second of /api/stats as a multiple of two Fastify routes that send the
            same bytes: "minimal" does nothing else, "baseline" has the same log, key check
            and headers. Uses wrk if it is installed, otherwise autocannon. The processor
            time for each request does not depend on the load of the machine.

Ratios come from the same run and are valid on any machine, absolute numbers only on this
one. Ctrl+C stops everything and removes the data.

  --quotes N,…   numbers of quotes. Default: 10000,1000000
  --seconds N    duration of each measurement of "warm". Default: 4
  --rounds N     number of rounds. Default: 5
  --only NAME,…  measurements to run. Default: cold,triggers,warm
`

const options = {
  quotes: { type: 'string', default: '10000,1000000' },
  seconds: { type: 'string', default: '4' },
  rounds: { type: 'string', default: '5' },
  only: { type: 'string', default: 'cold,triggers,warm' },
} as const

/** The quotes of one bulk insert, each with three lines. */
const bulkInsertQuotes = 50_000

const root = join(import.meta.dirname, '../..')
const company = readCompany(join(root, 'company.example.json'))

/**
 * The queries of a dashboard: everything, a year, partial years, a country, decisions, a
 * comparison.
 */
const queries = [
  {},
  { from: '2026-01-01' },
  { from: '2022-02-15', to: '2026-10-20' },
  { country: 'ES' },
  { date: 'accepted' },
  { from: '2026-01-01', to: lastDay, compare: 'previous_year' },
] as const

/** Each of the six queries once to warm up, and twenty times to measure. */
const coldRuns = 126

const ms = (value: number) => `${value.toFixed(1)} ms`
const whole = (value: number) => Math.round(value).toString()

await runCommand(help, options, async (values) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  const children: ChildProcess[] = []
  const servers = await startServers(directory, 1, (line) => console.log(line))
  const db = openDatabase(servers.databaseUrl, { connections: 1 })
  const stop = async () => {
    for (const child of children) child.kill('SIGKILL')
    await db.destroy()
    await servers.stop()
    await rm(directory, { recursive: true, force: true })
  }
  process.once('SIGINT', () => void stop().finally(() => process.exit(130)))
  try {
    await migrate(db)
    await recordCompany(db, company)
    const selected = values.only.split(',')
    const counts = values.quotes.split(',').map(Number)
    for (const count of counts) {
      console.log(`\nGenerating ${count.toLocaleString('en')} quotes ...`)
      await generateQuotes(db, count)
      if (selected.includes('cold')) await measureCold(db, count)
    }
    if (selected.includes('triggers')) await measureTriggers(db, Number(values.rounds))
    if (selected.includes('warm')) {
      await measureWarm({
        db,
        servers,
        directory,
        children,
        seconds: Number(values.seconds),
        rounds: Number(values.rounds),
      })
    }
    return 0
  } finally {
    await stop()
  }
})

/** Prints the latency of computing the statistics without any cache. */
async function measureCold(db: Database, count: number): Promise<void> {
  const latencies: number[] = []
  const backend = await backendPid(db)
  let processor = 0
  for (let round = 0; round < coldRuns; round += 1) {
    if (round === queries.length) processor = processorMicroseconds(backend)
    const query = queries[round % queries.length]
    const startedAt = performance.now()
    await readStats(db, company, { date: 'issued', today: lastDay, ...query })
    // The first run of each query fills the plan cache and the buffers.
    if (round >= queries.length) latencies.push(performance.now() - startedAt)
  }
  const processorMs = (processorMicroseconds(backend) - processor) / 1_000 / latencies.length
  const startedAt = performance.now()
  await assembleStats(db, company, { date: 'issued', today: lastDay }, totalsFromQuotes)
  const plainMs = performance.now() - startedAt
  const p95 = quantile(latencies, 0.95)
  console.log(
    `cold, ${count.toLocaleString('en')} quotes: median ${ms(median(latencies))}, ` +
      `p95 ${ms(p95)}, ${ms(processorMs)} of PostgreSQL processor time each; ` +
      `plain aggregates over everything ${ms(plainMs)}, ` +
      `${(plainMs / p95).toFixed(1)} times as long`,
  )
}

/** Prints the speed of a bulk insert with the triggers, as a share of that without them. */
async function measureTriggers(db: Database, rounds: number): Promise<void> {
  const speeds = { with: [] as number[], without: [] as number[] }
  const processor = { with: [] as number[], without: [] as number[] }
  const backend = await backendPid(db)
  for (let round = 0; round < rounds; round += 1) {
    const kinds = ['with', 'without'] as const
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      const action = sql.raw(kind === 'with' ? 'enable' : 'disable')
      await sql`alter table quotes ${action} trigger user`.execute(db)
      const insert = await measureBulkInsert(db, backend)
      speeds[kind].push(bulkInsertQuotes / (insert.ms / 1_000))
      processor[kind].push(insert.processorMicroseconds)
      await sql`select fold_quote_deltas(1000000)`.execute(db)
    }
  }
  await sql`alter table quotes enable trigger user`.execute(db)
  const [withTriggers, without] = [median(speeds.with), median(speeds.without)]
  const processorRatio = median(processor.without) / median(processor.with)
  console.log(
    `\nbulk insert of quotes with three lines each: ${whole(withTriggers)} quotes/s with ` +
      `triggers, ${whole(without)} without: ${(withTriggers / without).toFixed(2)} of the speed ` +
      `(by processor time ${processorRatio.toFixed(2)})`,
  )
}

/** Inserts quotes and deletes them again. Only the insert is measured. */
async function measureBulkInsert(
  db: Database,
  backend: number,
): Promise<{ ms: number; processorMicroseconds: number }> {
  return db.transaction().execute(async (transaction) => {
    const [startedAt, before] = [performance.now(), processorMicroseconds(backend)]
    await insertWithLines(transaction, bulkInsertQuotes, 100_000_000)
    const measured = {
      ms: performance.now() - startedAt,
      processorMicroseconds: processorMicroseconds(backend) - before,
    }
    await sql`delete from quotes where number like 'B1000%' and length(number) = 10`.execute(
      transaction,
    )
    return measured
  })
}

async function backendPid(db: Database): Promise<number> {
  const { pid } = await db
    .selectNoFrom(sql<number>`pg_backend_pid()`.as('pid'))
    .executeTakeFirstOrThrow()
  return pid
}

async function insertWithLines(db: Database, count: number, first: number): Promise<void> {
  await insertGenerated(count, first).execute(db)
  await sql`
    insert into quote_lines (quote_id, position, description, quantity, unit_price, net)
    select q.id, position, 'Generated', 1, 1, 1 from quotes q, generate_series(1, 3) as position
    where q.number like 'B1000%' and length(q.number) = 10`.execute(db)
}

type Warm = {
  db: Database
  servers: TestServers
  directory: string
  children: ChildProcess[]
  seconds: number
  rounds: number
}

/** Prints the throughput of /api/stats next to the minimal route and the baseline route. */
async function measureWarm({ seconds, rounds, ...service }: Warm): Promise<void> {
  const tool = (await hasWrk()) ? 'wrk' : 'autocannon'
  const { cases, bodyBytes, stop } = await startCases(service)
  console.log(
    `\nwarm, ${bodyBytes} bytes, by ${tool}, 20 connections, ` +
      `${rounds} rounds of ${seconds} s after a warm-up round`,
  )
  const loads = Object.fromEntries(Object.keys(cases).map((name) => [name, [] as Load[]]))
  for (let round = 0; round <= rounds; round += 1) {
    const isWarmUp = round === 0
    for (const [name, target] of Object.entries(cases)) {
      const load = await measureMaximumLoad(
        { ...target, seconds: isWarmUp ? 1 : seconds, connections: 20 },
        tool,
      )
      if (load.failed > 0) throw new Error(`${name}: ${load.failed} requests failed.`)
      if (!isWarmUp) loads[name]?.push(load)
    }
  }
  stop()
  printLoads(loads)
}

type Case = { url: string; pid: number; headers: Record<string, string> }

/** Starts the servers and returns the requests to compare. All responses have the same body. */
async function startCases(
  service: Pick<Warm, 'db' | 'servers' | 'directory' | 'children'>,
): Promise<{ cases: Record<string, Case>; bodyBytes: number; stop(): void }> {
  const keys = await createKeys(service.db)
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
  { servers, directory }: Pick<Warm, 'servers' | 'directory'>,
  key: string,
): NodeJS.ProcessEnv {
  const { seller, baseCurrency, timeZone } = company
  const companyFile = join(directory, 'company.json')
  writeFileSync(companyFile, JSON.stringify({ ...seller, baseCurrency, timeZone }))
  return {
    PATH: process.env.PATH,
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    REDIS_PREFIX: `bench:${randomBytes(4).toString('hex')}:`,
    MEILI_URL: servers.meiliUrls[0],
    MEILI_SEARCH_KEY: searchKey(servers.meiliMasterKey),
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
  const child = spawn(process.execPath, [join(import.meta.dirname, 'support/stats-servers.ts')], {
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

function fetchStats(url: string, authorization: string): Promise<Response> {
  return fetch(`${url}/api/stats`, { headers: { authorization, 'accept-encoding': 'identity' } })
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
      `${whole(medianOf(name, 'perSecond')).padStart(7)}/s`,
      `p99 ${medianOf(name, 'p99Ms').toFixed(1).padStart(6)} ms`,
      `${medianOf(name, 'cpuMicroseconds').toFixed(1).padStart(5)} µs of processor time`,
      ...ratios,
    ]
    console.log(columns.join('  '))
  }
}
