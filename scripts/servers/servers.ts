// The three servers of the demo, the tests and the benchmarks: those named by DATABASE_URL,
// REDIS_URL, and MEILI_URL with MEILI_MASTER_KEY, and otherwise children of this process.
import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { startMeilisearch } from './meilisearch.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import type { ReportProgress, RunningServer } from './running-server.ts'

export type Servers = {
  databaseUrl: string
  /** Undefined if none is named, and no program for one is found. */
  redisUrl: string | undefined
  meiliUrls: string[]
  meiliMasterKey: string
  /** Those that were started. */
  running: RunningServer[]
  stop(): Promise<void>
}

type Options = {
  /** Has the data of those that are started. */
  directory: string
  /** Of PostgreSQL. */
  settings: Record<string, string>
  /** Of each Meilisearch that is started. */
  masterKey: string
  /** How many Meilisearch are started. Each one works on a single task at a time. */
  engines?: number
  reportProgress?: ReportProgress | undefined
}

/**
 * Starts the servers that the environment does not name. If one cannot be started, throws an error
 * with advice, and none is running.
 */
export async function startServers({
  directory,
  settings,
  masterKey,
  engines = 1,
  reportProgress,
}: Options): Promise<Servers> {
  const { DATABASE_URL, REDIS_URL, MEILI_URL, MEILI_MASTER_KEY = '' } = process.env
  if (MEILI_URL && !MEILI_MASTER_KEY)
    throw new Error('MEILI_URL is set but MEILI_MASTER_KEY is not, which builds the index.')
  const place = (name: string) => ({ directory: join(directory, name), reportProgress })
  const engineNames = Array.from({ length: MEILI_URL ? 0 : engines }, (_, n) =>
    n === 0 ? 'meilisearch' : `meilisearch-${n}`,
  )
  const results = await Promise.allSettled([
    DATABASE_URL ? null : startPostgres({ ...place('postgres'), settings }),
    REDIS_URL ? null : startRedis(place('redis')),
    ...engineNames.map((name) => startMeilisearch({ ...place(name), masterKey })),
  ])
  const [postgres, redis, ...started] = results.map((result) =>
    result.status === 'fulfilled' ? result.value : null,
  )
  const running = [postgres, redis, ...started].filter((server) => server != null)
  const stop = async () => void (await Promise.all(running.map((server) => server.stop())))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) {
    await stop()
    throw failed.reason
  }
  return {
    databaseUrl: postgres?.url ?? DATABASE_URL ?? '',
    redisUrl: redis?.url ?? REDIS_URL,
    meiliUrls: MEILI_URL ? [MEILI_URL] : started.flatMap((server) => server?.url ?? []),
    meiliMasterKey: MEILI_URL ? MEILI_MASTER_KEY : masterKey,
    running,
    stop,
  }
}

export type TestServers = Pick<Servers, 'databaseUrl' | 'meiliUrls' | 'meiliMasterKey' | 'stop'> & {
  redisUrl: string
}

/**
 * Fast instead of durable: the data of tests may be lost. As many connections as PostgreSQL allows
 * by default, because the tests also run on a PostgreSQL without these settings, in the workflow.
 */
const fastSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // To drop a database, PostgreSQL searches all of them.
  shared_buffers: '32MB',
  max_connections: '100',
  // In the directory of the run. Segments of a killed PostgreSQL would stay in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
}

/** Starts servers for tests, which never run without a real one. */
export async function startTestServers(
  directory: string,
  engines: number,
  reportProgress?: ReportProgress,
): Promise<TestServers> {
  // Started by root, the servers run as another user, who must be able to enter the directory.
  await chmod(directory, 0o755)
  const masterKey = randomBytes(24).toString('base64url')
  const options = { directory, settings: fastSettings, masterKey, engines, reportProgress }
  const { redisUrl, running, ...servers } = await startServers(options)
  if (redisUrl !== undefined) return { ...servers, redisUrl }
  await servers.stop()
  throw new Error(
    'The tests need a real Redis: install redis-server or valkey-server, or set REDIS_URL.',
  )
}
