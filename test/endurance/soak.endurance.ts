// Ten minutes (SOAK_MINUTES) at full load, with PostgreSQL, Redis and Meilisearch restarted twice each: no error beyond the outages, and flat memory.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import type { RunningServer } from '../../scripts/servers/running-server.ts'
import { recordCompany } from '../../src/company/company.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { searchKey } from '../../src/indexing/engine-keys.ts'
import { shareQuote } from '../../src/quotes/share-links.ts'
import { addQuote } from '../support/quotes.ts'
import { company, eventually } from '../support/test-service.ts'

const minutes = Number(process.env.SOAK_MINUTES ?? 10)
const clients = 16
/** How long after a server is back an error still belongs to its outage: connections are made anew, and breakers probe every second. */
const recoveryMs = 5_000

type Restarted = { name: string; from: number; to: number }
type Failure = { at: number; url: string; status: number }

t.setTimeout((minutes * 60 + 600) * 1_000)
t.test(`${minutes} minutes at full load, each dependency restarted twice`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-soak-'))
  await chmod(directory, 0o755)
  const masterKey = randomBytes(24).toString('base64url')
  const ports = {
    postgres: await choosePort('soak'),
    redis: await choosePort('soak'),
    engine: await choosePort('soak'),
  }
  const starts: Record<string, () => Promise<RunningServer | null>> = {
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
  const start = async (name: string) => {
    const server = await starts[name]?.()
    if (!server) throw new Error(`${name} cannot be started`)
    running.set(name, server)
    return server
  }
  t.teardown(async () => {
    for (const server of running.values()) await server.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const urls: string[] = []
  for (const name of Object.keys(starts)) urls.push((await start(name)).url)
  const [databaseUrl = '', redisUrl = '', meiliUrl = ''] = urls

  const db = openDatabase(databaseUrl, { connections: 2 })
  await migrate(db)
  await recordCompany(db, company)
  await db
    .insertInto('products')
    .values(
      Array.from({ length: 2_000 }, (_, n) => ({
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
  const token = await shareQuote(db, { number: 'P-0' })

  const companyFile = join(mkdtempSync(join(tmpdir(), 'tqs-soak-company-')), 'company.json')
  t.teardown(() => rmSync(join(companyFile, '..'), { recursive: true, force: true }))
  const { seller, ...rest } = company
  writeFileSync(companyFile, JSON.stringify({ ...seller, ...rest }))
  const [port, opsPort] = [await choosePort('soak'), await choosePort('soak')]
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    MEILI_URL: meiliUrl,
    MEILI_MASTER_KEY: masterKey,
    MEILI_SEARCH_KEY: searchKey(masterKey),
    ANONYMOUS_SCOPES: 'search:read,stats:read',
    SEARCH_LIMIT_PER_SECOND: '1000000',
    STATS_LIMIT_PER_MINUTE: '100000000',
    LINK_LIMIT_PER_MINUTE: '100000000',
    COMPANY_FILE: companyFile,
    // A line a request would be gigabytes.
    LOG_LEVEL: 'warn',
    PORT: String(port),
    OPS_PORT: String(opsPort),
  }
  const logFile = join(directory, 'log')
  const log = openSync(logFile, 'a')
  // The collector of the process is called before memory is read, so that what is compared is what is held.
  const api = spawn(
    process.execPath,
    ['--expose-gc', '--import', join(import.meta.dirname, 'collect-on-signal.ts'), 'src/server.ts'],
    {
      env,
      stdio: ['ignore', log, log],
    },
  )
  const indexer = spawn(process.execPath, ['scripts/indexer.ts'], {
    env,
    stdio: ['ignore', log, log],
  })
  const ends = [api, indexer].map(
    (child) => new Promise<number | null>((resolve) => child.once('exit', resolve)),
  )
  // Before the directory is gone.
  t.teardown(() => {
    for (const child of [api, indexer]) child.kill('SIGKILL')
    if (!t.passing()) t.comment(readFileSync(logFile, 'utf8').slice(-4_000))
  })
  const ops = `http://127.0.0.1:${opsPort}`
  const ready = () =>
    fetch(`${ops}/health/ready`).then(
      (answer) => answer.json() as Promise<{ status: string; indexLagSeconds: number | null }>,
      () => ({ status: 'away', indexLagSeconds: null }),
    )
  t.match(
    await eventually(
      ready,
      (state) => state.status === 'ready' && state.indexLagSeconds !== null,
      60_000,
    ),
    { status: 'ready' },
  )

  const base = `http://127.0.0.1:${port}`
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  t.teardown(() => agent.destroy())
  const failures: Failure[] = []
  const outages: Restarted[] = []
  const memory: { at: number; heapBytes: number; residentBytes: number }[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + minutes * 60_000
  let answers = 0
  let isOver = false
  const goesOn = () => !isOver && performance.now() < endsAt

  async function client(own: number): Promise<void> {
    for (let turn = own; goesOn(); turn += 1) {
      const url = [
        `/api/search?q=${['martillo', 'bola', `ab-${turn % 2_000}`, 'martilo', 'herr'][turn % 5]}`,
        `/api/search?q=martillo+${turn % 500}`,
        turn % 2
          ? '/api/stats'
          : `/api/stats?from=2026-${String(1 + (turn % 9)).padStart(2, '0')}-01&to=2026-12-31`,
        `/quote/share/${token}?format=${turn % 50 === 3 ? 'pdf' : turn % 3 ? 'json' : 'html'}`,
      ][turn % 4]
      const status = await ask(`${base}${url}`, agent)
      answers += 1
      if (status !== 200)
        failures.push({ at: performance.now(), url: url?.replace(token, '…') ?? '', status })
    }
  }

  /** Data goes on changing, so that caches and the index have work. */
  async function writer(): Promise<void> {
    for (let turn = 0; goesOn(); turn += 1) {
      await db
        .updateTable('products')
        .set({ name: `Martillo de bola ${turn}` })
        .where('sku', '=', `AB-${turn % 2_000}`)
        .execute()
        .catch(() => undefined)
      await sleep(200)
    }
  }

  async function restarts(): Promise<void> {
    const names = ['Redis', 'Meilisearch', 'PostgreSQL', 'Redis', 'Meilisearch', 'PostgreSQL']
    const between = (minutes * 60_000) / (names.length + 2)
    for (const name of names) {
      await sleep(between - 2_000)
      if (isOver) return
      const from = performance.now()
      await running.get(name)?.stop()
      await sleep(2_000)
      await start(name)
      outages.push({ name, from, to: performance.now() })
    }
  }

  async function watch(): Promise<void> {
    while (goesOn()) {
      await sleep(Math.min(10_000, minutes * 6_000))
      memory.push({
        at: performance.now() - startedAt,
        ...(await readMemory(logFile, api.pid ?? 0)),
      })
    }
  }

  const parts = [
    ...Array.from({ length: clients }, (_, own) => client(own)),
    writer(),
    restarts(),
    watch(),
  ]
  try {
    await Promise.all(parts)
  } finally {
    // Also where one of them failed: nothing may be started any more when everything is stopped.
    isOver = true
    await Promise.allSettled(parts)
  }

  const within = ({ at }: Failure) =>
    outages.some(({ from, to }) => at >= from && at <= to + recoveryMs)
  const beyond = failures.filter((failure) => !within(failure))
  t.same(beyond.slice(0, 10), [], `${beyond.length} of ${answers} answers failed outside an outage`)
  t.equal(outages.length, 6)
  t.match(
    await eventually(
      ready,
      (state) => state.status === 'ready' && state.indexLagSeconds === 0,
      60_000,
    ),
    {
      status: 'ready',
      indexLagSeconds: 0,
    },
  )

  // From the middle on, when every cache has been filled and every connection made anew once.
  const settled = memory.slice(Math.floor(memory.length / 2))
  const [early, late] = [
    settled.slice(0, Math.ceil(settled.length / 2)),
    settled.slice(Math.ceil(settled.length / 2)),
  ]
  const heap = (part: typeof memory) => median(part.map(({ heapBytes }) => heapBytes)) / 1e6
  const resident = (part: typeof memory) =>
    median(part.map(({ residentBytes }) => residentBytes)) / 1e6
  console.error(
    `${answers} answers (${Math.round(answers / minutes / 60)}/s), ${failures.length} failed, all but ${beyond.length} in outages of ${outages.map(({ name, from, to }) => `${name} ${((to - from) / 1_000).toFixed(1)} s`).join(', ')}`,
  )
  console.error(
    `heap after collection ${heap(early).toFixed(1)} MB, then ${heap(late).toFixed(1)} MB; resident ${resident(early).toFixed(0)} MB, then ${resident(late).toFixed(0)} MB`,
  )
  console.error(
    `heap, MB: ${memory.map(({ heapBytes }) => (heapBytes / 1e6).toFixed(1)).join(' ')}; resident, MB: ${memory.map(({ residentBytes }) => (residentBytes / 1e6).toFixed(0)).join(' ')}`,
  )
  t.ok(
    heap(late) < heap(early) * 1.1 + 3,
    `the heap is flat: ${heap(early).toFixed(1)}, then ${heap(late).toFixed(1)} MB`,
  )
  t.ok(
    resident(late) < resident(early) * 1.15 + 10,
    `and so is the process: ${resident(early).toFixed(0)}, then ${resident(late).toFixed(0)} MB`,
  )

  api.kill('SIGTERM')
  indexer.kill('SIGTERM')
  t.same(await Promise.all(ends), [0, 0])
  await db.destroy()
})

async function readMemory(
  log: string,
  pid: number,
): Promise<{ heapBytes: number; residentBytes: number }> {
  const told = () => [...readFileSync(log, 'utf8').matchAll(/^HELD (\d+) (\d+)$/gm)]
  const before = told().length
  process.kill(pid, 'SIGWINCH')
  const lines = await eventually(
    async () => told(),
    (lines) => lines.length > before,
  )
  const [, heap, resident] = lines.at(-1) ?? []
  return { heapBytes: Number(heap), residentBytes: Number(resident) }
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

function ask(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    request(url, { agent }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
      answer.once('error', () => resolve(0))
    })
      .once('error', () => resolve(0))
      .end()
  })
}
