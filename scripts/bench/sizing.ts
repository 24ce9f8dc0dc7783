// Measures what a catalogue and its quotes need: memory of each program, disk, and time to build.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { openIndexingClient } from '../../src/indexing/engine/indexing-client.ts'
import { deriveSearchKey, ensurePermanentKeys } from '../../src/indexing/engine/permanent-keys.ts'
import { runCommand } from '../cli/command.ts'
import { spawnChild } from '../servers/child-lifetime.ts'
import { startMeilisearch } from '../servers/meilisearch.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import type { RunningServer } from '../servers/running-server.ts'
import { insertGeneratedProducts } from './support/data/generated-products.ts'
import { generateQuotes, linesPerQuote } from './support/data/generated-quotes.ts'
import { startApi } from './support/processes/api-process.ts'
import { type Memory, readMemory, watchMemory } from './support/processes/process-memory.ts'

const help = `
Usage: node scripts/bench/sizing.ts [--products N,N] [--quotes N,N]

Starts PostgreSQL, Redis and Meilisearch in a temporary directory. For each number of products it
fills a database, builds the index with scripts/indexer.ts, starts the API and sends searches. For
each number of quotes, with ${linesPerQuote} lines each, it fills a database, starts the API and
asks for statistics. Prints the peak of the memory of each program, the disk, and the time. Progress
is on stderr.

  --products N,N  numbers of products. Default: 10000,200000. Use - for none
  --quotes N,N    numbers of quotes. Default: 100000. Use - for none

A million products need about 7 GB of disk below TMPDIR, and a million quotes 4 GB.
`

const options = {
  products: { type: 'string', default: '10000,200000' },
  quotes: { type: 'string', default: '100000' },
} as const

const root = join(import.meta.dirname, '../..')
const masterKey = 'a-master-key-for-measuring'
const requests = 300

type Servers = { postgres: RunningServer; redis: RunningServer }

await runCommand(help, options, async ({ products, quotes }) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-sizing-'))
  // As root the servers run under another account, which must be able to enter.
  await chmod(directory, 0o755)
  const postgres = await startPostgres({
    directory: join(directory, 'postgres'),
    settings: { shared_buffers: '256MB', max_wal_size: '2GB' },
  })
  const redis = await startRedis({ directory: join(directory, 'redis') })
  if (!redis) throw new Error('Install redis-server.')
  const cleanUp = async () => {
    await Promise.all([postgres.stop(), redis.stop()])
    await rm(directory, { recursive: true, force: true })
  }
  // The other programs end with this one.
  process.once('SIGINT', () => void cleanUp().finally(() => process.exit(130)))
  try {
    for (const count of parseCounts(products))
      await measureProducts(directory, { postgres, redis }, count)
    for (const count of parseCounts(quotes))
      await measureQuotes(directory, { postgres, redis }, count)
    return 0
  } finally {
    await cleanUp()
  }
})

function parseCounts(text: string): number[] {
  return text === '-' ? [] : text.split(',').map(Number)
}

async function measureProducts(directory: string, servers: Servers, count: number): Promise<void> {
  const { name, url, db } = await createDatabase(servers.postgres, `products_${count}`)
  const engineDirectory = join(directory, name)
  const meilisearch = await startMeilisearch({ directory: engineDirectory, masterKey })
  try {
    await ensurePermanentKeys(openIndexingClient(meilisearch.url, masterKey))
    await insertGeneratedProducts(db, count)
    const watched = [servers.postgres, meilisearch].map(({ pid }) => watchMemory(pid ?? 0))
    const build = await buildIndex(url, meilisearch.url)
    const [postgresMemory, engineMemory] = watched.map(({ stop }) => stop())
    const api = await measureApi({ directory, redisUrl: servers.redis.url, url, db }, meilisearch)
    print(`${count.toLocaleString('en')} products`, {
      'first build': `${build.seconds.toFixed(0)} s`,
      indexer: `${build.memory.own.toFixed(0)} MB`,
      Meilisearch: describeMemory(engineMemory),
      PostgreSQL: describeMemory(postgresMemory),
      'API, after searches': `${api.own.toFixed(0)} MB`,
      'disk of Meilisearch': `${diskMegabytes(engineDirectory)} MB`,
      'disk of PostgreSQL': `${await databaseMegabytes(db)} MB`,
    })
  } finally {
    await meilisearch.stop()
    await rm(engineDirectory, { recursive: true, force: true })
    await dropDatabase(servers.postgres, name, db)
  }
}

async function measureQuotes(directory: string, servers: Servers, count: number): Promise<void> {
  const { name, url, db } = await createDatabase(servers.postgres, `quotes_${count}`)
  const engineDirectory = join(directory, name)
  const meilisearch = await startMeilisearch({ directory: engineDirectory, masterKey })
  try {
    await ensurePermanentKeys(openIndexingClient(meilisearch.url, masterKey))
    const startedAt = performance.now()
    await generateQuotes(db, count, {
      lines: linesPerQuote,
      throughTriggers: 0,
      onProgress: (done) => console.error(`${done.toLocaleString('en')} quotes are written.`),
    })
    const seconds = (performance.now() - startedAt) / 1_000
    await sql`analyze`.execute(db)
    const watched = watchMemory(servers.postgres.pid ?? 0)
    const api = await measureApi({ directory, redisUrl: servers.redis.url, url, db }, meilisearch)
    print(`${count.toLocaleString('en')} quotes`, {
      'inserted without triggers, and summary built': `${seconds.toFixed(0)} s`,
      PostgreSQL: describeMemory(watched.stop()),
      'API, after statistics': `${api.own.toFixed(0)} MB`,
      'disk of PostgreSQL': `${await databaseMegabytes(db)} MB`,
      Redis: describeMemory(readMemory(servers.redis.pid ?? 0)),
    })
  } finally {
    await meilisearch.stop()
    await rm(engineDirectory, { recursive: true, force: true })
    await dropDatabase(servers.postgres, name, db)
  }
}

async function createDatabase({ url: serverUrl }: RunningServer, name: string) {
  const admin = openDatabase(serverUrl, { connections: 1 })
  await sql`create database ${sql.id(name)}`.execute(admin)
  await admin.destroy()
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const db = openDatabase(url.href, { connections: 2, responseTimeoutMs: 3_600_000 })
  await migrate(db)
  await recordCompany(db, readCompany(join(root, 'company.example.json')))
  return { name, url: url.href, db }
}

async function dropDatabase({ url }: RunningServer, name: string, db: Database): Promise<void> {
  await db.destroy()
  const admin = openDatabase(url, { connections: 1 })
  await sql`drop database ${sql.id(name)} with (force)`.execute(admin)
  await admin.destroy()
}

/** Runs the indexer until the index is complete. */
async function buildIndex(
  databaseUrl: string,
  meiliUrl: string,
): Promise<{ seconds: number; memory: Memory }> {
  const output = openSync('/dev/null', 'w')
  const startedAt = performance.now()
  const indexer = spawnChild(process.execPath, ['scripts/indexer.ts', 'build'], {
    cwd: root,
    env: { DATABASE_URL: databaseUrl, MEILI_URL: meiliUrl, MEILI_MASTER_KEY: masterKey },
    stopSignal: 'SIGTERM',
    output,
  })
  const watched = watchMemory(indexer.pid ?? 0)
  const status = await new Promise((resolve) => indexer.once('exit', resolve))
  closeSync(output)
  if (status !== 0) throw new Error(`The indexer ended with status ${status}.`)
  return { seconds: (performance.now() - startedAt) / 1_000, memory: watched.stop() }
}

type ApiSettings = { directory: string; redisUrl: string; url: string; db: Database }

/** Sends searches and questions for statistics, and returns the peak of the API's memory. */
async function measureApi(
  { directory, redisUrl, url, db }: ApiSettings,
  meilisearch: RunningServer,
): Promise<Memory> {
  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'sizing',
    scopes: ['search:read', 'stats:read'],
    unlimited: true,
  })
  const api = await startApi(
    {
      directory,
      redisUrl,
      databaseUrl: url,
      meiliUrl: meilisearch.url,
      meiliKey: deriveSearchKey(masterKey),
      indexName: 'products',
      company: await readFile(join(root, 'company.example.json'), 'utf8'),
    },
    {},
  )
  const watched = watchMemory(api.pid)
  const headers = { authorization: `Bearer ${key}` }
  for (let n = 0; n < requests; n += 1) {
    await (await fetch(`${api.url}/api/search?q=${n} mm&limit=20`, { headers })).text()
    const month = String(1 + (n % 12)).padStart(2, '0')
    const period = `from=2022-${month}-01&to=2026-${month}-01`
    await (await fetch(`${api.url}/api/stats?${period}`, { headers })).text()
  }
  const peak = watched.stop()
  await api.stop()
  return peak
}

function describeMemory(memory: Memory | undefined): string {
  const { own = 0, files = 0, shared = 0 } = memory ?? {}
  const parts = [`${own.toFixed(0)} MB of its own`, `${files.toFixed(0)} MB of files`]
  if (shared >= 1) parts.push(`${shared.toFixed(0)} MB shared`)
  return parts.join(', ')
}

function diskMegabytes(directory: string): string {
  return String(
    Math.round(
      Number(execFileSync('du', ['-sk', directory], { encoding: 'utf8' }).split('\t')[0]) / 1_024,
    ),
  )
}

async function databaseMegabytes(db: Database): Promise<string> {
  const { rows } = await sql<{ bytes: string }>`
    select pg_database_size(current_database())::text as bytes
  `.execute(db)
  return (Number(rows[0]?.bytes) / 2 ** 20).toFixed(0)
}

function print(title: string, values: Record<string, string>): void {
  console.log(`\n${title}`)
  for (const [name, value] of Object.entries(values)) console.log(`  ${name}: ${value}`)
}
