// The service under test on three real servers. Each test has its own database, Redis prefix and
// search index.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Pool } from 'pg'
import tap from 'tap'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import { startServers, type TestServers } from '../../scripts/servers/test-servers.ts'
import { buildApp, describeApi } from '../../src/app.ts'
import type { Brand } from '../../src/company/brand.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import type { ServerConfig } from '../../src/config.ts'
import {
  createKysely,
  type Database,
  openApiPool,
  openDatabase,
  openPool,
  openReplicaPool,
  openSearchPool,
} from '../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../src/database/prepared-statements.ts'
import { grantRoles, limitTemporaryTables, type Program } from '../../src/database/role-grants.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { ensureEngineKeys, searchKey } from '../../src/indexing/engine/engine-keys.ts'
import { openIndexingClient } from '../../src/indexing/engine/indexing-client.ts'
import { readIndexRecord } from '../../src/indexing/index-record.ts'
import type { IndexAddress } from '../../src/indexing/leased-target.ts'
import { computeIndexShape } from '../../src/indexing/rebuild/index-shape.ts'
import { registerEngine } from '../../src/indexing/register-engine.ts'
import type { Metrics } from '../../src/monitoring/process-metrics.ts'
import { openRedis, type RedisClient } from '../../src/redis/redis-connection.ts'
import { openSearchEngine } from '../../src/search-engine/search-client.ts'
import { nameWithShape } from '../../src/search-engine/shape-suffix.ts'
import { company, writeCompanyFile } from './company.ts'
import { buildRoleUrl, logins } from './database-roles.ts'
import { eventually } from './eventually.ts'
import { fastStart } from './fast-start.ts'
import { chooseFixedPort } from './fixed-port.ts'
import { rebuildIndex, syncIndex } from './leased-target.ts'
import { checkEveryResponse } from './openapi-conformance.ts'

/** The part of tap's test that this file needs. */
type Test = { teardown(fn: () => unknown): void }

export { company, eventually, logins }

// Every answer that a test receives must match the OpenAPI document. Only the address in it varies.
checkEveryResponse(
  describeApi({
    PUBLIC_BASE_URL: 'https://quotes.example',
    ANONYMOUS_SCOPES: [],
  } as unknown as ServerConfig),
  (deviation) => {
    tap.fail(`a response deviates from the OpenAPI document: ${deviation}`)
  },
)

let running: Promise<TestServers> | undefined

/**
 * The servers that `make test` started. A file that runs alone starts its own servers, which stop
 * with the process.
 */
export async function servers(): Promise<Omit<TestServers, 'stop'>> {
  const { TEST_SERVERS } = process.env
  if (TEST_SERVERS) return JSON.parse(TEST_SERVERS) as TestServers
  running ??= (async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tqs-test-'))
    const started = await startServers(directory, 1)
    tap.teardown(async () => {
      await started.stop()
      await rm(directory, { recursive: true, force: true })
    })
    return started
  })()
  return running
}

/** `db`, `pool` and `url` connect as the owner. `roles` holds the URLs that the programs use. */
export type TestDatabase = { db: Database; pool: Pool; url: string; roles: Record<Program, string> }

/** Long, because a test must not fail when the machine is busy. */
const connectionTimeoutMs = 60_000

/** Creates a migrated database with `company` recorded. It is dropped when the test ends. */
export async function testDatabase(t: Test): Promise<TestDatabase> {
  const { databaseUrl } = await servers()
  const name = `test_${randomBytes(6).toString('hex')}`
  const admin = await openAdmin()
  preparedTemplate ??= prepareTemplate(admin, databaseUrl)
  await preparedTemplate
  await sql`
    create database ${sql.id(name)} template ${sql.id(template)} strategy file_copy
  `.execute(admin)
  const url = databaseNamed(databaseUrl, name)
  const db = openDatabase(url, { connectionTimeoutMs })
  const pool = openPool(url, { connections: 4, connectionTimeoutMs })
  t.teardown(async () => {
    await db.destroy()
    await pool.end()
    await sql`drop database ${sql.id(name)} with (force)`.execute(await openAdmin())
  })
  // The template contains all grants except this one, which belongs to the database itself.
  await limitTemporaryTables(db, logins)
  return {
    db,
    pool,
    url,
    roles: {
      api: buildRoleUrl(url, 'api'),
      indexer: buildRoleUrl(url, 'indexer'),
      importer: buildRoleUrl(url, 'importer'),
    },
  }
}

/** Creates an empty database without migrations. It is dropped when the test ends. */
export async function emptyDatabase(t: Test): Promise<string> {
  const { databaseUrl } = await servers()
  const name = `test_${randomBytes(6).toString('hex')}`
  await sql`create database ${sql.id(name)}`.execute(await openAdmin())
  t.teardown(async () => sql`drop database ${sql.id(name)} with (force)`.execute(await openAdmin()))
  return databaseNamed(databaseUrl, name)
}

export type TestService = TestDatabase & {
  app: FastifyInstance
  redis: RedisClient
  engine: Meilisearch
  target: IndexAddress
  config: ServerConfig
  /** Applies every pending change to the index. */
  sync(): Promise<void>
}

type ServiceOptions = {
  metrics?: Metrics
  config?: Partial<ServerConfig>
  clock?: () => Date
  driftCheckMs?: number
  log?: (line: string) => void
  database?: TestDatabase
  apiUrl?: string
  /** A replica that statistics and documents are read from. */
  replicaUrl?: string
  /** The logo and the accent colour of the company. */
  brand?: Brand
  /** false: no search index, for tests that never search. Building one takes half a second. */
  index?: boolean
}

let engineKeys: Promise<void> | undefined

/**
 * Builds the whole service on real servers. Callers without a key may do everything unless `config`
 * says otherwise. As in production, the app connects with the role of the API; `apiUrl` replaces
 * that connection.
 */
export async function testService(
  t: Test,
  {
    config: overrides = {},
    clock,
    driftCheckMs,
    log,
    database,
    apiUrl,
    replicaUrl,
    metrics,
    brand,
    index = true,
  }: ServiceOptions = {},
): Promise<TestService> {
  const { redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const { db, pool, url, roles } = database ?? (await testDatabase(t))
  const own = randomBytes(6).toString('hex')
  const meiliUrl = meiliUrls[Number(process.env.TAP_JOB_ID ?? 0) % meiliUrls.length] ?? ''
  const config: ServerConfig = {
    DATABASE_URL: apiUrl ?? roles.api,
    DATABASE_CONNECTIONS: 10,
    ...(replicaUrl && { REPLICA_DATABASE_URL: replicaUrl }),
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `test:${own}:`,
    MEILI_URL: meiliUrl,
    MEILI_SEARCH_KEY: searchKey(meiliMasterKey),
    SEARCH_INDEX: nameWithShape(`test_${own}`, computeIndexShape()),
    SEARCH_ENGINE: nameWithShape('main', computeIndexShape()),
    MORE_SEARCH_ENGINES: [],
    COMPANY_FILE: '',
    HOST: '127.0.0.1',
    PORT: 0,
    OPS_HOST: '127.0.0.1',
    OPS_PORT: 0,
    PUBLIC_BASE_URL: 'https://quotes.example',
    ANONYMOUS_SCOPES: ['search:read', 'stats:read'],
    ALLOWED_HOSTS: [],
    TRUST_PROXY: [],
    SEARCH_CACHE_MB: 8,
    SEARCH_REPORT: true,
    SEARCH_LIMIT_PER_SECOND: 100_000,
    STATS_LIMIT_PER_MINUTE: 100_000,
    LINK_LIMIT_PER_MINUTE: 100_000,
    CALLER_GUESS_LIMIT_PER_MINUTE: 100_000,
    LINK_GUESS_LIMIT_PER_MINUTE: 100_000,
    // Off, because the machine that runs the tests may be slow at any time.
    SHED_DELAY_MS: 0,
    COUNT_VIEWS: false,
    QUOTE_REPLIES: true,
    WEB_PARTS: ['palette'],
    SERVE_OPENAPI: true,
    SERVE_DOCS: true,
    START_TIMEOUT_SECONDS: 60,
    KEEP_ALIVE_SECONDS: 65,
    STOP_DELAY_SECONDS: 0,
    OTEL_TRACES_SAMPLER_ARG: 1,
    LOG_LEVEL: 'info',
    ...overrides,
  }
  const admin = openIndexingClient(meiliUrl, meiliMasterKey)
  // Created once, because services that start at the same time would create them twice.
  engineKeys ??= ensureEngineKeys(admin)
  await engineKeys
  const target = {
    db,
    client: admin,
    indexName: config.SEARCH_INDEX,
    registrationName: config.SEARCH_ENGINE,
  }
  if (index) {
    await registerEngine(db, target.registrationName)
    await rebuildIndex(target)
  }

  const redis = await openRedis(config.REDIS_URL ?? redisUrl)
  const apiPool = openApiPool(config.DATABASE_URL)
  const apiDb = createKysely(apiPool)
  const searchPool = openSearchPool(config.DATABASE_URL)
  const replicaDb = replicaUrl ? createPreparingKysely(openReplicaPool(replicaUrl)) : null
  const engine = openSearchEngine(config.MEILI_URL, config.MEILI_SEARCH_KEY)
  const app = await buildApp({
    config,
    company: { ...company, ...(brand && { brand }) },
    connections: {
      db: apiDb,
      preparingDb: createPreparingKysely(apiPool),
      replicaDb,
      searchPool,
      redis,
      searchEngines: [{ registrationName: config.SEARCH_ENGINE, engine }],
    },
    logger: { level: config.LOG_LEVEL, stream: { write: (line: string) => log?.(line) } },
    ...(clock && { clock }),
    ...(driftCheckMs && { driftCheckMs }),
    ...(metrics && { metrics }),
  })
  t.teardown(async () => {
    await app.close()
    redis.disconnect()
    engine.close()
    await apiDb.destroy()
    await searchPool.end()
    await replicaDb?.destroy()
    await admin.deleteIndexIfExists(config.SEARCH_INDEX)
  })
  return {
    db,
    pool,
    url,
    roles,
    app,
    redis,
    engine: admin,
    target,
    config,
    async sync() {
      await syncIndex(target)
      // After a truncate, only a rebuild brings the index up to date.
      if ((await readIndexRecord(db, target.registrationName))?.wasTruncated)
        await rebuildIndex(target)
    },
  }
}

/**
 * Starts the API in its own process on the servers of `service` and waits until it answers. `env`
 * overrides its settings.
 */
export async function startApi(
  t: Test,
  { config }: Pick<TestService, 'config'>,
  env: Record<string, string> = {},
): Promise<RunningProgram & { url: string; opsUrl: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-api-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  writeCompanyFile(directory)
  const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
  const program = startProgram(t, ['src/server.ts'], {
    ...Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)])),
    COMPANY_FILE: join(directory, 'company.json'),
    PORT: String(port),
    OPS_PORT: String(opsPort),
    ...env,
  })
  const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`]
  const isUp = await eventually(
    () => fetch(url).then(Boolean, () => false),
    (up) => up || program.child.exitCode !== null,
    60_000,
  )
  if (!isUp) throw new Error(`The API did not start: ${program.output()}`)
  return { ...program, url, opsUrl }
}

export type RunningProgram = { child: ChildProcess; output(): string; exit: Promise<number | null> }

/**
 * Starts a program of this project with this environment. It is killed when the test ends, also if
 * the test itself is killed. `exit` resolves to its exit status.
 */
export function startProgram(
  t: Test,
  words: string[],
  env: Record<string, string | undefined>,
): RunningProgram {
  const child = spawnChild(process.execPath, words, {
    cwd: join(import.meta.dirname, '../..'),
    // No load shedding unless a test asks for it: the machine may be slow at any time.
    env: { ...fastStart, SHED_DELAY_MS: '0', ...env },
    stopSignal: 'SIGKILL',
    output: 'pipe',
    input: 'pipe',
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const exit = new Promise<number | null>((resolve) =>
    child.once('close', (status) => resolve(status)),
  )
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, output: () => Buffer.concat(chunks).toString(), exit }
}

let openedAdmin: Database | undefined

/** Connections as superuser. A file opens them once, because each costs 10 ms of processor time. */
async function openAdmin(): Promise<Database> {
  if (openedAdmin) return openedAdmin
  const { databaseUrl } = await servers()
  if (openedAdmin) return openedAdmin
  const admin = openDatabase(databaseUrl, { connections: 2, connectionTimeoutMs })
  openedAdmin = admin
  tap.teardown(async () => {
    openedAdmin = undefined
    await admin.destroy()
  })
  return admin
}

const template = 'migrated_template'
let preparedTemplate: Promise<void> | undefined

async function prepareTemplate(admin: Database, databaseUrl: string): Promise<void> {
  await admin.connection().execute(async (connection) => {
    // Several test files may prepare the template at the same time.
    await sql`select pg_advisory_lock(71)`.execute(connection)
    try {
      const { rows } = await sql`select from pg_database where datname = ${template}`.execute(
        connection,
      )
      if (rows.length > 0) return
      const making = `${template}_making`
      await sql`drop database if exists ${sql.id(making)} with (force)`.execute(connection)
      await sql`create database ${sql.id(making)}`.execute(connection)
      await inDatabase(databaseNamed(databaseUrl, making), async (db) => {
        await migrate(db)
        await recordCompany(db, company)
        await grantRoles(db, logins)
      })
      await sql`alter database ${sql.id(making)} rename to ${sql.id(template)}`.execute(connection)
    } finally {
      await sql`select pg_advisory_unlock(71)`.execute(connection)
    }
  })
}

async function inDatabase<Result>(
  url: string,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = openDatabase(url, { connections: 2, connectionTimeoutMs })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}

function databaseNamed(url: string, name: string): string {
  const named = new URL(url)
  named.pathname = `/${name}`
  return named.href
}
