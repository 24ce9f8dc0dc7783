// The whole service as real processes: PostgreSQL, Redis, two engines, two APIs. Two
// indexers serve the first engine, and one serves the other.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import type { RunningServer } from '../../scripts/servers/running-server.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { deriveIndexerKey, deriveSearchKey, ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { writeCompanyFile } from '../support/database/company.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { prepareSchema } from '../support/database/test-database.ts'
import { fastStart } from '../support/run-program.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { runProgram, runServer, type ServiceProcess } from '../support/service/service-process.ts'
import { type Clock, fastClock, fastLocalToday } from './fast-clock.ts'

const programNames = ['indexer-1', 'indexer-2', 'indexer-3', 'api-1', 'api-2'] as const
type ProgramName = (typeof programNames)[number]
export const engineNames = ['engine-1', 'engine-2'] as const
export type EngineName = (typeof engineNames)[number]
export type ProcessName = 'postgres' | 'redis' | EngineName | ProgramName

/** A Meilisearch, and the name under which its index is registered. */
export type Engine = ServerFiles & { url: string; registeredName: string }

export type ServerFiles = { dataDirectory: string }

export type Cluster = {
  databaseUrl: string
  /** Where PostgreSQL keeps its files. */
  databaseFiles: ServerFiles
  engines: Record<EngineName, Engine>
  masterKey: string
  apis: { name: ProcessName; url: string }[]
  processes: Record<ProcessName, ServiceProcess>
  /** The programs that ended by themselves. Whoever reads it empties it. */
  unexpectedExits: string[]
  clock: Clock
  /** The last `characters` of what each program has logged. */
  readLogs(characters: number): Record<ProgramName, string>
  stop(): Promise<void>
}

const masterKey = 'a-master-key-for-histories'
export const indexName = 'products'

/** A committed transaction must survive SIGKILL of the server. Power failures are not simulated. */
const postgresSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '100',
  max_wal_size: '256MB',
}

/** Histories do not test rate limits. */
const rateLimits = [
  'SEARCH_LIMIT_PER_SECOND',
  'STATS_LIMIT_PER_MINUTE',
  'LINK_LIMIT_PER_MINUTE',
  'LINK_GUESS_LIMIT_PER_MINUTE',
]

const probeTimeoutMs = 1_000

/** Starts everything in `directory` with a migrated database. Resolves when both APIs answer. */
export async function startCluster(directory: string): Promise<Cluster> {
  const startedAt = Date.now()
  const unexpectedExits: string[] = []
  const running = await startServers(directory)
  await prepareDatabase(running.postgres.server.url, startedAt)
  const { apis, programs } = await startPrograms(directory, running, startedAt, unexpectedExits)
  const servers = {
    postgres: running.postgres.process,
    redis: running.redis.process,
    'engine-1': running.engines['engine-1'].process,
    'engine-2': running.engines['engine-2'].process,
  }
  return {
    databaseUrl: running.postgres.server.url,
    databaseFiles: { dataDirectory: join(actualDirectory(join(directory, 'postgres')), 'data') },
    engines: {
      'engine-1': running.engines['engine-1'].engine,
      'engine-2': running.engines['engine-2'].engine,
    },
    masterKey,
    apis,
    processes: { ...servers, ...programs },
    unexpectedExits,
    clock: fastClock(startedAt),
    readLogs: (characters) => {
      const readLog = (name: ProgramName) => readFileSync(logFile(directory, name), 'utf8')
      const logs = programNames.map((name) => [name, readLog(name).slice(-characters)])
      return Object.fromEntries(logs) as Record<ProgramName, string>
    },
    async stop() {
      await Promise.all(Object.values(programs).map((program) => program.stop()))
      await Promise.all(Object.values(servers).map((server) => server.stop()))
    },
  }
}

const logFile = (directory: string, name: ProgramName) => join(directory, `${name}.log`)

/** Starts the APIs and the indexers. A program that ends by itself is added to `exits`. */
async function startPrograms(
  directory: string,
  { postgres, redis, engines }: Awaited<ReturnType<typeof startServers>>,
  clockStart: number,
  exits: string[],
): Promise<{ apis: Cluster['apis']; programs: Record<ProgramName, ServiceProcess> }> {
  const companyFile = writeCompanyFile(directory)
  const [first, second] = [engines['engine-1'].engine, engines['engine-2'].engine]
  const start = (
    name: ProgramName,
    script: string,
    env: Record<string, string>,
    isAnswering: () => Promise<boolean>,
  ) =>
    runProgram([script], {
      env: { ...fastStart, SEARCH_INDEX: indexName, ...env },
      logFile: logFile(directory, name),
      isAnswering,
      onUnexpectedExit: (status) => void exits.push(`${name} ended by itself (${status})`),
    })
  const startIndexer = (name: ProgramName, { url, registeredName }: Engine) => {
    const engineEnv = { MEILI_URL: url, SEARCH_ENGINE: registeredName }
    const env = { ...indexerEnv(postgres.server.url), ...engineEnv }
    return start(name, 'scripts/indexer.ts', env, async () => true)
  }
  const startApi = async (name: ProgramName) => {
    const [port, opsPort] = [await chooseFixedPort(), await chooseFixedPort()]
    const url = `http://127.0.0.1:${port}`
    const env = {
      ...apiEnv(postgres.server.url, redis.server.url, companyFile),
      PORT: String(port),
      OPS_PORT: String(opsPort),
      HISTORY_CLOCK: String(clockStart),
      MEILI_URL: first.url,
      SEARCH_ENGINE: first.registeredName,
      MORE_SEARCH_ENGINES: `${second.registeredName}=${second.url}`,
    }
    const script = 'test/history/api-with-fast-clock.ts'
    return { name, url, process: await start(name, script, env, () => isOk(url)) }
  }
  const [api1, api2, indexer1, indexer2, indexer3] = await Promise.all([
    startApi('api-1'),
    startApi('api-2'),
    startIndexer('indexer-1', first),
    startIndexer('indexer-2', first),
    startIndexer('indexer-3', second),
  ])
  return {
    apis: [api1, api2],
    programs: {
      'indexer-1': indexer1,
      'indexer-2': indexer2,
      'indexer-3': indexer3,
      'api-1': api1.process,
      'api-2': api2.process,
    },
  }
}

async function startServers(directory: string) {
  const subdirectory = (name: string) => {
    mkdirSync(join(directory, name), { recursive: true, mode: 0o755 })
    return join(directory, name)
  }
  const ports = [
    await chooseFixedPort(),
    await chooseFixedPort(),
    await chooseFixedPort(),
    await chooseFixedPort(),
  ] as const
  const [postgresPort, redisPort, ...enginePorts] = ports
  const [postgres, redis, engine1, engine2] = await Promise.all([
    runServer(() =>
      startPostgres({
        directory: subdirectory('postgres'),
        port: postgresPort,
        settings: postgresSettings,
      }),
    ),
    runServer(() =>
      startRedis({ directory: subdirectory('redis'), port: redisPort }).then(requireRedis),
    ),
    startEngine(subdirectory('engine-1'), enginePorts[0], 'main'),
    startEngine(subdirectory('engine-2'), enginePorts[1], 'second'),
  ])
  return { postgres, redis, engines: { 'engine-1': engine1, 'engine-2': engine2 } }
}

async function startEngine(directory: string, port: number, registeredName: string) {
  const { server, process } = await runServer(async () => {
    const started = await startMeilisearch({ directory, port, masterKey })
    // An engine that lost its data has lost its keys. An operator runs scripts/migrate.ts then.
    await ensurePermanentKeys(openIndexingClient(started.url, masterKey))
    return started
  })
  const dataDirectory = join(actualDirectory(directory), 'data')
  const engine: Engine = { url: server.url, registeredName, dataDirectory }
  return { process, engine }
}

async function prepareDatabase(url: string, clockStart: number): Promise<void> {
  await prepareSchema(url)
  const db = openDatabase(url, { connections: 1 })
  await fastLocalToday(clockStart).execute(db)
  await db.schema
    .createTable('history_commits')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .execute()
  await db.destroy()
}

const indexerEnv = (databaseUrl: string) => ({
  INDEXER_DATABASE_URL: buildRoleUrl(databaseUrl, 'indexer'),
  MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
  POPULARITY_MINUTES: '1',
})

const apiEnv = (databaseUrl: string, redisUrl: string, companyFile: string) => ({
  API_DATABASE_URL: buildRoleUrl(databaseUrl, 'api'),
  REDIS_URL: redisUrl,
  MEILI_SEARCH_KEY: deriveSearchKey(masterKey),
  COMPANY_FILE: companyFile,
  ANONYMOUS_SCOPES: 'search:read,stats:read',
  ...Object.fromEntries(rateLimits.map((limit) => [limit, '1000000'])),
  // With so many processes on one machine, delays of the event loop are not the API's fault.
  SHED_DELAY_MS: '0',
  LOG_LEVEL: 'warn',
})

const isOk = (apiUrl: string) =>
  fetch(`${apiUrl}/api/search?limit=1`, { signal: AbortSignal.timeout(probeTimeoutMs) }).then(
    ({ ok }) => ok,
    () => false,
  )

function requireRedis(redis: RunningServer | null): RunningServer {
  if (!redis) throw new Error('Histories need a real Redis: install redis-server or valkey-server.')
  return redis
}

/** Where a server keeps its data: a fallback directory if its account cannot use `directory`. */
function actualDirectory(directory: string): string {
  try {
    return readFileSync(join(directory, 'moved-to'), 'utf8').trim()
  } catch {
    return directory
  }
}

/** Deletes the data of an engine, which must not be running. */
export function deleteEngineData({ dataDirectory }: Engine): void {
  rmSync(dataDirectory, { recursive: true, force: true })
}

const backupOf = ({ dataDirectory }: ServerFiles) => `${dataDirectory}-backup`

/** Copies the data of a server, which must not be running. */
export function backUpFiles(server: ServerFiles): void {
  copyWithOwners(server.dataDirectory, backupOf(server))
}

/** Puts the data of a server back as `backUpFiles` has copied it. It must not be running. */
export function restoreFiles(server: ServerFiles): void {
  copyWithOwners(backupOf(server), server.dataDirectory)
}

/** The account of the server must be able to write to the copy. */
function copyWithOwners(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  execFileSync('cp', ['-a', from, to])
}
