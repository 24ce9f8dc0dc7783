// The service over a catalogue, for measurements: servers, an indexed database, the app on
// loopback, and a key without a rate limit.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Pool } from 'pg'
import { buildApp } from '../../../src/app.ts'
import { createApiKey } from '../../../src/auth/api-keys.ts'
import { readCompany } from '../../../src/company/company-file.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import { type Database, openDatabase, openSearchPool } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { deriveSearchKey, ensurePermanentKeys } from '../../../src/indexing/keys.ts'
import { registerIndex } from '../../../src/indexing/registration.ts'
import { openRedis } from '../../../src/redis/redis-connection.ts'
import { openSearchEngine } from '../../../src/search-engine/client.ts'
import { nameWithVersion } from '../../../src/search-engine/index-name.ts'
import { rebuildIndex } from '../../../test/support/database/leased-target.ts'
import { startServers, type TestServers } from '../../servers/test-servers.ts'
import type { Product } from './data/catalogues.ts'

export type BenchServers = TestServers & { directory: string }
export type BenchService = {
  db: Database
  searchPool: Pool
  engine: Meilisearch
  indexName: string
  databaseUrl: string
  redisUrl: string
  /** The temporary directory of this run. `company` is the text of the company file. */
  directory: string
  company: string
  meiliUrl: string
  meiliKey: string
  url: string
  authorization: string
  close(): Promise<void>
}

/** Starts the servers in a temporary directory, which `stop` removes. */
export async function benchServers(): Promise<BenchServers> {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  const servers = await startServers(directory, 1)
  return {
    ...servers,
    directory,
    async stop() {
      await servers.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Creates a database with the products, indexes them if `hasIndex`, and starts the app. */
export async function benchService(
  servers: BenchServers,
  name: string,
  products: Product[],
  { hasIndex = true }: { hasIndex?: boolean } = {},
): Promise<BenchService> {
  const admin = openDatabase(servers.databaseUrl, { connections: 1 })
  await sql`drop database if exists ${sql.id(`bench_${name}`)} with (force)`.execute(admin)
  await sql`create database ${sql.id(`bench_${name}`)}`.execute(admin)
  await admin.destroy()
  const url = new URL(servers.databaseUrl)
  url.pathname = `/bench_${name}`
  const db = openDatabase(url.href)
  const searchPool = openSearchPool(url.href)
  await migrate(db)
  const companyFile = join(import.meta.dirname, '../../../company.example.json')
  const company = readCompany(companyFile)
  await recordCompany(db, company)
  for (let start = 0; start < products.length; start += 5_000) {
    await db
      .insertInto('products')
      .values(products.slice(start, start + 5_000))
      .execute()
  }
  await sql`analyze`.execute(db)

  const meiliUrl = servers.meiliUrls[0] ?? ''
  const engine = openIndexingClient(meiliUrl, servers.meiliMasterKey)
  const target = {
    indexName: nameWithVersion(`bench_${name}`),
    registrationName: nameWithVersion('main'),
  }
  await ensurePermanentKeys(engine)
  if (hasIndex) {
    await registerIndex(db, target.registrationName)
    await rebuildIndex({ db, client: engine, ...target })
  }

  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'bench',
    scopes: ['search:read', 'stats:read'],
    unlimited: true,
  })
  const searchEngine = openSearchEngine(meiliUrl, deriveSearchKey(servers.meiliMasterKey))
  const redis = await openRedis(servers.redisUrl)
  const config = {
    DATABASE_URL: url.href,
    DATABASE_CONNECTIONS: 10,
    REDIS_PREFIX: `bench:${name}:`,
    MEILI_URL: meiliUrl,
    MEILI_SEARCH_KEY: deriveSearchKey(servers.meiliMasterKey),
    SEARCH_INDEX: target.indexName,
    SEARCH_ENGINE: target.registrationName,
    MORE_SEARCH_ENGINES: [],
    COMPANY_FILE: '',
    HOST: '127.0.0.1',
    PORT: 0,
    OPS_HOST: '127.0.0.1',
    OPS_PORT: 0,
    ANONYMOUS_SCOPES: [],
    ALLOWED_HOSTS: [],
    TRUST_PROXY: [],
    SEARCH_CACHE_MB: 0,
    SEARCH_REPORT: true,
    SEARCH_LIMIT_PER_SECOND: 40,
    STATS_LIMIT_PER_MINUTE: 120,
    LINK_LIMIT_PER_MINUTE: 60,
    CALLER_GUESS_LIMIT_PER_MINUTE: 20,
    LINK_GUESS_LIMIT_PER_MINUTE: 10,
    SHED_DELAY_MS: 250,
    COUNT_VIEWS: false,
    QUOTE_REPLIES: true,
    WEB_PARTS: ['palette' as const],
    SERVE_OPENAPI: true,
    SERVE_DOCS: true,
    START_TIMEOUT_SECONDS: 60,
    KEEP_ALIVE_SECONDS: 65,
    STOP_DELAY_SECONDS: 0,
    OTEL_TRACES_SAMPLER_ARG: 1,
    LOG_LEVEL: 'warn' as const,
  }
  const app = await buildApp({
    config,
    company,
    indexName: config.SEARCH_INDEX,
    connections: {
      db,
      dbWithPreparedStatements: db,
      searchPool,
      redis,
      searchEngines: [{ registrationName: target.registrationName, engine: searchEngine }],
    },
    logger: { level: config.LOG_LEVEL },
    traces: null,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  return {
    db,
    searchPool,
    engine,
    indexName: target.indexName,
    databaseUrl: url.href,
    redisUrl: servers.redisUrl,
    directory: servers.directory,
    company: readFileSync(companyFile, 'utf8'),
    meiliUrl,
    meiliKey: config.MEILI_SEARCH_KEY,
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    authorization: `Bearer ${key}`,
    async close() {
      await app.close()
      redis.disconnect()
      searchEngine.close()
      await db.destroy()
      await searchPool.end()
    },
  }
}
