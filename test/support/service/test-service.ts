// The service under test on three real servers. Each test has its own database, Redis prefix and
// search index.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import type { FastifyInstance } from 'fastify'
import type { Meilisearch } from 'meilisearch'
import tap from 'tap'
import { buildApp } from '../../../src/app.ts'
import type { Brand } from '../../../src/company/brand.ts'
import { Settings } from '../../../src/config/settings-schema.ts'
import type { ServerConfig } from '../../../src/config.ts'
import { createKysely, openApiPool, openSearchPool } from '../../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../../src/database/prepared-statements.ts'
import { openIndexingClient } from '../../../src/indexing/engine.ts'
import { deriveSearchKey, ensurePermanentKeys } from '../../../src/indexing/keys.ts'
import {
  type IndexAddress,
  readRegistration,
  registerIndex,
} from '../../../src/indexing/registration.ts'
import type { Metrics } from '../../../src/monitoring/process-metrics.ts'
import { openRedis, type RedisClient } from '../../../src/redis/redis-connection.ts'
import { describeApi } from '../../../src/routes.ts'
import { openSearchEngine } from '../../../src/search-engine/client.ts'
import { nameWithVersion } from '../../../src/search-engine/index-name.ts'
import type { Traces } from '../../../src/tracing/open-traces.ts'
import { company, writeCompanyFile } from '../database/company.ts'
import { rebuildIndex, syncIndex } from '../database/leased-target.ts'
import { servers, type Test, type TestDatabase, testDatabase } from '../database/test-database.ts'
import { eventually } from '../eventually.ts'
import { checkEveryResponse } from '../openapi-conformance.ts'
import { type RunningProgram, startProgram } from '../run-program.ts'
import { chooseFixedPort } from '../servers/fixed-port.ts'
import { createTemporaryDirectory } from '../temporary-directory.ts'

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

/** The configuration of a service whose engine is unreachable, so that PostgreSQL answers. */
export const withoutEngine = { MEILI_URL: 'http://127.0.0.1:9' }

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
  traces?: Traces | null
  config?: Partial<ServerConfig>
  clock?: () => Date
  driftCheckMs?: number
  log?: (line: string) => void
  database?: TestDatabase
  apiUrl?: string
  /** Another address of the engine, which the service searches as its second engine. */
  secondEngineUrl?: string
  /** The logo and the accent colour of the company. */
  brand?: Brand
  /**
   * False: no search index is built, which takes half a second. For tests that never search, and
   * for those whose searches PostgreSQL may answer.
   */
  index?: boolean
}

/** Returns the settings of a service under test with its own Redis prefix and search index. */
export async function buildConfig(
  overrides: Partial<ServerConfig> & Pick<ServerConfig, 'DATABASE_URL'>,
): Promise<ServerConfig> {
  const { redisUrl, meiliMasterKey } = await servers()
  const own = randomBytes(6).toString('hex')
  return Value.Default(Settings, {
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `test:${own}:`,
    MEILI_URL: await ownEngineUrl(),
    MEILI_SEARCH_KEY: deriveSearchKey(meiliMasterKey),
    SEARCH_INDEX: nameWithVersion(`test_${own}`),
    SEARCH_ENGINE: nameWithVersion('main'),
    PORT: 0,
    OPS_PORT: 0,
    PUBLIC_BASE_URL: 'https://quotes.example',
    ANONYMOUS_SCOPES: ['search:read', 'stats:read'],
    SEARCH_CACHE_MB: 8,
    SEARCH_LIMIT_PER_SECOND: 100_000,
    STATS_LIMIT_PER_MINUTE: 100_000,
    LINK_LIMIT_PER_MINUTE: 100_000,
    CALLER_GUESS_LIMIT_PER_MINUTE: 100_000,
    LINK_GUESS_LIMIT_PER_MINUTE: 100_000,
    // Off, because the machine that runs the tests may be slow at any time.
    SHED_DELAY_MS: 0,
    STOP_DELAY_SECONDS: 0,
    ...overrides,
  }) as ServerConfig
}

/** Each test process has an engine, which works on a single task at a time. */
export async function ownEngineUrl(): Promise<string> {
  const { meiliUrls } = await servers()
  return meiliUrls[Number(process.env.TEST_PROCESS ?? 0) % meiliUrls.length] ?? ''
}

/** The name under which the index of a second engine is registered. */
export const secondEngineName = 'second'

let permanentKeys: Promise<unknown> | undefined

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
    secondEngineUrl,
    metrics,
    traces = null,
    brand,
    index = true,
  }: ServiceOptions = {},
): Promise<TestService> {
  const { redisUrl, meiliMasterKey } = await servers()
  const { db, pool, url, roles } = database ?? (await testDatabase(t))
  const config = await buildConfig({ DATABASE_URL: apiUrl ?? roles.api, ...overrides })
  const admin = openIndexingClient(await ownEngineUrl(), meiliMasterKey)
  // Created once, because services that start at the same time would create them twice.
  permanentKeys ??= ensurePermanentKeys(admin)
  await permanentKeys
  const target = {
    db,
    client: admin,
    indexName: config.SEARCH_INDEX,
    registrationName: config.SEARCH_ENGINE,
  }
  if (index) {
    await registerIndex(db, target.registrationName)
    await rebuildIndex(target)
  }

  const redis = await openRedis(config.REDIS_URL ?? redisUrl)
  const apiPool = openApiPool(config.DATABASE_URL)
  const apiDb = createKysely(apiPool)
  const searchPool = openSearchPool(config.DATABASE_URL)
  const openEngine = (url: string) => openSearchEngine(url, config.MEILI_SEARCH_KEY)
  const engine = openEngine(config.MEILI_URL)
  const secondEngine = secondEngineUrl === undefined ? null : openEngine(secondEngineUrl)
  const app = await buildApp({
    config,
    company: { ...company, ...(brand && { brand }) },
    indexName: config.SEARCH_INDEX,
    connections: {
      db: apiDb,
      dbWithPreparedStatements: createPreparingKysely(apiPool),
      searchPool,
      redis,
      searchEngines: [
        { registrationName: config.SEARCH_ENGINE, engine },
        ...(secondEngine ? [{ registrationName: secondEngineName, engine: secondEngine }] : []),
      ],
    },
    logger: { level: config.LOG_LEVEL, stream: { write: (line: string) => log?.(line) } },
    traces,
    ...(clock && { clock }),
    ...(driftCheckMs && { driftCheckMs }),
    ...(metrics && { metrics }),
  })
  t.teardown(async () => {
    await app.close()
    redis.disconnect()
    await engine.close()
    await secondEngine?.close()
    await apiDb.destroy()
    await searchPool.end()
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
      if ((await readRegistration(db, target.registrationName))?.hasPendingTruncation)
        await rebuildIndex(target)
    },
  }
}

export type RunningApi = RunningProgram & { port: string; url: string; opsUrl: string }

/** Starts the API in its own process on the servers of `service`. `env` overrides its settings. */
export async function spawnApi(
  t: Test,
  { config }: Pick<TestService, 'config'>,
  env: Record<string, string> = {},
): Promise<RunningApi> {
  const directory = createTemporaryDirectory(t, 'api')
  writeCompanyFile(directory)
  const port = env.PORT ?? String(await chooseFixedPort())
  const opsPort = String(await chooseFixedPort())
  const program = startProgram(t, ['src/server.ts'], {
    ...Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)])),
    COMPANY_FILE: join(directory, 'company.json'),
    PORT: port,
    OPS_PORT: opsPort,
    ...env,
  })
  return {
    ...program,
    port,
    url: `http://127.0.0.1:${port}`,
    opsUrl: `http://127.0.0.1:${opsPort}`,
  }
}

/** Does the same, and waits until it answers. */
export async function startApi(...args: Parameters<typeof spawnApi>): Promise<RunningApi> {
  const api = await spawnApi(...args)
  const isUp = await eventually(
    () => fetch(api.url).then(Boolean, () => false),
    (up) => up || api.child.exitCode !== null,
    60_000,
  )
  if (!isUp) throw new Error(`The API did not start: ${api.output()}`)
  return api
}
