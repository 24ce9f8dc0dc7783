// The three servers of the demo: those named in the environment, and otherwise child processes.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { checkPostgres } from '../../src/database/wait-for-postgres.ts'
import { makeDirectory } from '../servers/data-directory/make-directory.ts'
import { startMeilisearch } from '../servers/meilisearch.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import type { ReportProgress, RunningServer } from '../servers/running-server.ts'

export type DemoServers = {
  databaseUrl: string
  redisUrl: string | null
  meiliUrl: string
  meiliMasterKey: string
  meiliPid: number | null
  /** The servers that the demo started and has to stop. */
  started: RunningServer[]
}

/**
 * Starts the servers that DATABASE_URL, REDIS_URL and MEILI_URL do not name. If one fails to start,
 * the others are stopped again.
 */
export async function startDemoServers(
  directory: string,
  reportProgress: ReportProgress,
): Promise<DemoServers> {
  const { DATABASE_URL, REDIS_URL, MEILI_URL, MEILI_MASTER_KEY } = process.env
  if (MEILI_URL && !MEILI_MASTER_KEY)
    throw new Error(
      'MEILI_URL is set but MEILI_MASTER_KEY is not: the demo needs it to build the index.',
    )
  if (DATABASE_URL) await requireReachable(DATABASE_URL)
  makeDirectory(directory)
  const masterKey =
    MEILI_URL && MEILI_MASTER_KEY
      ? MEILI_MASTER_KEY
      : readOrCreateSecret(join(directory, 'meili-master-key'))
  const started: RunningServer[] = []
  const start = async <Server extends RunningServer | null>(
    starting: Promise<Server>,
  ): Promise<Server> => {
    const server = await starting
    if (server) started.push(server)
    return server
  }
  const results = await Promise.allSettled([
    DATABASE_URL ||
      start(
        startPostgres({
          directory: join(directory, 'postgres'),
          settings: demoSettings,
          reportProgress,
        }),
      ).then(({ url }) => createDemoDatabase(url)),
    REDIS_URL ||
      start(startRedis({ directory: join(directory, 'redis'), reportProgress })).then(
        (redis) => redis?.url ?? null,
      ),
    MEILI_URL
      ? { url: MEILI_URL, pid: null }
      : start(
          startMeilisearch({
            directory: join(directory, 'meilisearch'),
            masterKey,
            reportProgress,
          }),
        ),
  ])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) {
    await Promise.all(started.map((server) => server.stop()))
    throw failed.reason
  }
  const [databaseUrl, redisUrl, engine] = results.map(
    (result) => (result as PromiseFulfilledResult<unknown>).value,
  ) as [string, string | null, { url: string; pid: number | null }]
  return {
    databaseUrl,
    redisUrl,
    meiliUrl: engine.url,
    meiliPid: engine.pid,
    meiliMasterKey: masterKey,
    started,
  }
}

/**
 * Throws an error that says what to do. The usual reason is that the shell has read the demo.env of
 * a demo that was stopped.
 */
async function requireReachable(url: string): Promise<void> {
  const db = openDatabase(url, { connections: 1 })
  const reason = await checkPostgres(db)
    .catch(({ message }: Error) => message)
    .finally(() => db.destroy())
  if (reason !== null)
    throw new Error(
      'DATABASE_URL is set, so the demo uses that server instead of starting one, but it cannot ' +
        `be used: ${reason}. To start one, run \`unset DATABASE_URL\` first.`,
    )
}

/** Half a million rows are imported in one transaction. */
const demoSettings = { shared_buffers: '256MB', max_wal_size: '2GB', checkpoint_timeout: '15min' }

const databaseName = 'trade_quotes'

/** Creates the database of the demo if it is missing. Returns its URL. */
async function createDemoDatabase(clusterUrl: string): Promise<string> {
  const cluster = openDatabase(clusterUrl, { connections: 1 })
  try {
    const { rows } = await sql`select from pg_database where datname = ${databaseName}`.execute(
      cluster,
    )
    if (rows.length === 0) await sql`create database ${sql.id(databaseName)}`.execute(cluster)
  } finally {
    await cluster.destroy()
  }
  const url = new URL(clusterUrl)
  url.pathname = `/${databaseName}`
  return url.href
}

function readOrCreateSecret(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const secret = randomBytes(32).toString('base64url')
  writeFileSync(file, `${secret}\n`, { mode: 0o600 })
  return secret
}
