// The whole service as real processes: PostgreSQL, Redis, two engines, two APIs. Two
// indexers serve the first engine, and one serves the other.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { prepareSchema } from '../support/database/test-database.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { type RunningEngine, startEngine, startPrograms } from '../support/service/installation.ts'
import { runServer, type ServiceProcess } from '../support/service/service-process.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { type Clock, fastClock, fastLocalToday } from './fast-clock.ts'

export const engineNames = ['engine-1', 'engine-2'] as const
export type EngineName = (typeof engineNames)[number]
const programNames = ['indexer-1', 'indexer-2', 'indexer-3', 'api-1', 'api-2'] as const
export type ProcessName = 'postgres' | 'redis' | EngineName | (typeof programNames)[number]

export type ServerFiles = { dataDirectory: string }

export type Cluster = {
  databaseUrl: string
  /** Where PostgreSQL keeps its files. */
  databaseFiles: ServerFiles
  engines: Record<EngineName, RunningEngine>
  apis: { name: ProcessName; url: string }[]
  processes: Record<ProcessName, ServiceProcess>
  /** The programs that ended by themselves. Whoever reads it empties it. */
  unexpectedExits: string[]
  clock: Clock
  /** The last `characters` of what each program has logged. */
  readLogs(characters: number): Record<string, string>
}

/** A committed transaction must survive SIGKILL of the server. Power failures are not simulated. */
const settings = {
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

/** Starts everything with a migrated database. It ends with the test. */
export async function startCluster(t: Pick<Test, 'teardown'>): Promise<Cluster> {
  const directory = createTemporaryDirectory(t, 'history')
  const startedAt = Date.now()
  const subdirectory = (name: string) => {
    mkdirSync(join(directory, name), { mode: 0o755 })
    return join(directory, name)
  }
  const ports = { postgres: await chooseFixedPort(), redis: await chooseFixedPort() }
  const files = { postgres: subdirectory('postgres'), redis: subdirectory('redis') }
  const [postgres, redis, first, second] = await Promise.all([
    runServer(() => startPostgres({ directory: files.postgres, port: ports.postgres, settings })),
    runServer(async () => {
      const server = await startRedis({ directory: files.redis, port: ports.redis })
      if (!server) throw new Error('Install redis-server or valkey-server.')
      return server
    }),
    startEngine(directory, 'main'),
    startEngine(directory, 'second'),
  ])
  const servers = {
    postgres: postgres.process,
    redis: redis.process,
    'engine-1': first.process,
    'engine-2': second.process,
  }
  t.teardown(() => Promise.all(Object.values(servers).map((server) => server.stop())))
  const databaseUrl = postgres.server.url
  await prepareDatabase(databaseUrl, startedAt)
  const limits = Object.fromEntries(rateLimits.map((limit) => [limit, '1000000']))
  const programs = await startPrograms(
    directory,
    { databaseUrl, redisUrl: redis.server.url, engines: [first, second] },
    {
      count: 2,
      script: 'test/history/api-with-fast-clock.ts',
      env: { ...limits, HISTORY_CLOCK: String(startedAt) },
    },
  )
  t.teardown(() => programs.stop())
  const running = [...programs.indexers, ...programs.apis.map(({ process }) => process)]
  const processes = Object.fromEntries(programNames.map((name, n) => [name, running[n]]))
  return {
    databaseUrl,
    databaseFiles: { dataDirectory: join(files.postgres, 'data') },
    engines: { 'engine-1': first, 'engine-2': second },
    apis: programs.apis.map(({ url }, n) => ({ name: n === 0 ? 'api-1' : 'api-2', url })),
    processes: { ...servers, ...processes } as Record<ProcessName, ServiceProcess>,
    unexpectedExits: programs.unexpectedExits,
    clock: fastClock(startedAt),
    readLogs: (characters) =>
      Object.fromEntries(
        programNames.map((name) => [
          name,
          readFileSync(programs.logFile(name), 'utf8').slice(-characters),
        ]),
      ),
  }
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

/** Deletes the data of an engine, which must not be running. */
export function deleteEngineData({ dataDirectory }: ServerFiles): void {
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
