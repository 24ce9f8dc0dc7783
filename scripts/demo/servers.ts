// The three servers of the demo: those named in the environment, and otherwise child processes.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { checkPostgres } from '../../src/database/wait-for-postgres.ts'
import { startMeilisearch } from '../servers/meilisearch.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import type { ReportProgress, RunningServer } from '../servers/running-server.ts'

export type DemoServers = {
  databaseUrl: string
  redisUrl: string | undefined
  meiliUrl: string
  meiliMasterKey: string
}

/** Half a million rows are imported in one transaction. */
const settings = { shared_buffers: '256MB', max_wal_size: '2GB', checkpoint_timeout: '15min' }
const databaseName = 'trade_quotes'

/**
 * Starts the servers that DATABASE_URL, REDIS_URL and MEILI_URL do not name, and adds them to
 * `started`. If it throws, none of them is starting any more.
 */
export async function startDemoServers(
  directory: string,
  started: RunningServer[],
  reportProgress: ReportProgress,
): Promise<DemoServers> {
  const { DATABASE_URL, REDIS_URL, MEILI_URL, MEILI_MASTER_KEY } = process.env
  if (MEILI_URL && !MEILI_MASTER_KEY)
    throw new Error(
      'MEILI_URL is set but MEILI_MASTER_KEY is not: the demo needs it to build the index.',
    )
  if (DATABASE_URL) await requireReachable(DATABASE_URL)
  const masterKey =
    (MEILI_URL && MEILI_MASTER_KEY) || readOrCreateSecret(join(directory, 'meili-master-key'))
  const options = (name: string) => ({ directory: join(directory, name), reportProgress })
  const results = await Promise.allSettled([
    DATABASE_URL ? null : startPostgres({ ...options('postgres'), settings }),
    REDIS_URL ? null : startRedis(options('redis')),
    MEILI_URL ? null : startMeilisearch({ ...options('meilisearch'), masterKey }),
  ])
  const [postgres, redis, engine] = results.map((result) =>
    result.status === 'fulfilled' ? result.value : null,
  )
  for (const server of [postgres, redis, engine]) if (server) started.push(server)
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return {
    databaseUrl: postgres ? await createDemoDatabase(postgres.url) : (DATABASE_URL ?? ''),
    redisUrl: redis?.url ?? REDIS_URL,
    meiliUrl: engine?.url ?? MEILI_URL ?? '',
    meiliMasterKey: masterKey,
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
  return new URL(databaseName, clusterUrl).href
}

function readOrCreateSecret(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const secret = randomBytes(32).toString('base64url')
  writeFileSync(file, `${secret}\n`, { mode: 0o600 })
  return secret
}
