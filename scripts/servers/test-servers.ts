// The three real servers of the tests: those named by DATABASE_URL, REDIS_URL, and MEILI_URL with
// MEILI_MASTER_KEY, and otherwise children of this process.
import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { startMeilisearch } from './meilisearch.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'

export type TestServers = {
  databaseUrl: string
  redisUrl: string
  meiliUrls: string[]
  meiliMasterKey: string
  stop(): Promise<void>
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

/**
 * Starts the servers that the environment does not name, with their data below `directory`. Starts
 * as many Meilisearch as `engines` says, because each one works on a single task at a time. Throws
 * an error with advice if a server cannot be started. Tests never run without a real server.
 */
export async function startServers(
  directory: string,
  engines: number,
  reportProgress: (line: string) => void = () => undefined,
): Promise<TestServers> {
  const { DATABASE_URL, REDIS_URL, MEILI_URL, MEILI_MASTER_KEY } = process.env
  const masterKey =
    MEILI_URL && MEILI_MASTER_KEY ? MEILI_MASTER_KEY : randomBytes(24).toString('base64url')
  const stops: (() => Promise<void>)[] = []
  const stop = async () => void (await Promise.all(stops.map((one) => one())))

  async function started<Server extends { url: string; stop(): Promise<void> }>(
    starting: Promise<Server>,
  ): Promise<string> {
    const server = await starting
    stops.push(() => server.stop())
    return server.url
  }

  // Started by root, the servers run as another user, who must be able to enter the directory.
  await chmod(directory, 0o755)
  const results = await Promise.allSettled([
    DATABASE_URL ??
      started(
        startPostgres({
          directory: join(directory, 'postgres'),
          settings: fastSettings,
          reportProgress,
        }),
      ),
    REDIS_URL ??
      started(startRedis({ directory: join(directory, 'redis'), reportProgress }).then(required)),
    ...(MEILI_URL && MEILI_MASTER_KEY
      ? [MEILI_URL]
      : Array.from({ length: engines }, (_, n) =>
          started(
            startMeilisearch({
              directory: join(directory, `meilisearch-${n}`),
              masterKey,
              reportProgress,
            }),
          ),
        )),
  ])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) {
    await stop()
    throw failed.reason
  }
  const [databaseUrl = '', redisUrl = '', ...meiliUrls] = results.map((result) =>
    result.status === 'fulfilled' ? result.value : '',
  )
  return { databaseUrl, redisUrl, meiliUrls, meiliMasterKey: masterKey, stop }
}

function required<Server>(server: Server | null): Server {
  if (!server)
    throw new Error(
      'The tests need a real Redis: install redis-server or valkey-server, or set REDIS_URL.',
    )
  return server
}
