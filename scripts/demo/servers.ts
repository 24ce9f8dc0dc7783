// The three servers of the demo: those named in the environment, and otherwise child processes.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { checkPostgres } from '../../src/database/wait-for-postgres.ts'
import type { ReportProgress } from '../servers/running-server.ts'
import { type Servers, startServers } from '../servers/servers.ts'

export type DemoServers = Omit<Servers, 'meiliUrls'> & { meiliUrl: string }

/** Half a million rows are imported in one transaction. */
const settings = { shared_buffers: '256MB', max_wal_size: '2GB', checkpoint_timeout: '15min' }
const databaseName = 'trade_quotes'

/** Starts what the environment does not name, with the database of the demo. */
export async function startDemoServers(
  directory: string,
  reportProgress: ReportProgress,
): Promise<DemoServers> {
  const { DATABASE_URL } = process.env
  if (DATABASE_URL) await requireReachable(DATABASE_URL)
  const masterKey = readOrCreateSecret(join(directory, 'meili-master-key'))
  const servers = await startServers({ directory, settings, masterKey, reportProgress })
  const [meiliUrl = ''] = servers.meiliUrls
  try {
    const databaseUrl = DATABASE_URL || (await createDemoDatabase(servers.databaseUrl))
    return { ...servers, databaseUrl, meiliUrl }
  } catch (error) {
    await servers.stop()
    throw error
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
