// Starts a PostgreSQL with a streaming replica that can be promoted, and a migrated database on it.
import { chmodSync, cpSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { giveTo } from '../../../scripts/servers/data-directory.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { RunningServer } from '../../../scripts/servers/running-server.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import { openDatabase, openPool } from '../../../src/database/postgres-pool.ts'
import { grantRoles } from '../../../src/database/role-grants.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { company } from '../database/company.ts'
import { buildRoleUrl, buildRoleUrls, logins } from '../database/database-roles.ts'
import type { TestDatabase } from '../database/test-database.ts'
import { eventually } from '../eventually.ts'
import { chooseFixedPort } from './fixed-port.ts'

/** Fast instead of durable: the data of tests may be lost. */
const settings = { fsync: 'off', full_page_writes: 'off', shared_buffers: '32MB' }

type Test = { teardown(fn: () => unknown): void }

export type ReplicatedPostgres = {
  primary: RunningServer
  replica: RunningServer
  /** The database on the primary; its role URLs too. */
  database: TestDatabase
  /** The URL with both hosts, in this order of hosts and with this role. */
  urlOfBoth(url: string, hosts?: string[]): string
  /** The URL of the replica with the role of the API. */
  replicaUrl: string
  /** The replica receives changes and does not show them. */
  pauseReplay(): Promise<void>
  resumeReplay(): Promise<void>
  crashReplica(): Promise<void>
  restartReplica(): Promise<void>
  /** Ends the primary at once, as a crash does, after the replica has received everything. */
  crashPrimary(): Promise<void>
  promoteReplica(): Promise<void>
  /** Starts the primary again as it was. It does not know that it has been replaced. */
  restartPrimary(): Promise<void>
}

/** All servers end with the test. */
export async function startReplicatedPostgres(t: Test): Promise<ReplicatedPostgres> {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-replication-'))
  const directories = { primary: join(directory, 'primary'), replica: join(directory, 'replica') }
  const running = new Set<RunningServer>()
  t.teardown(async () => {
    for (const server of running) await server.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  const start = async (name: keyof typeof directories, port?: number) => {
    const server = await startPostgres({ directory: directories[name], port, settings })
    running.add(server)
    return server
  }
  chmodSync(directory, 0o755)
  const port = await chooseFixedPort()
  const first = await start('primary', port)
  const url = await prepareDatabase(first.url)
  await first.stop()
  running.delete(first)
  for (const name of ['data', 'password'])
    cpSync(join(directories.primary, name), join(directories.replica, name), {
      recursive: true,
      preserveTimestamps: true,
    })
  chmodSync(join(directories.replica, 'data'), 0o700)
  const { username, password } = new URL(first.url)
  const data = join(directories.replica, 'data')
  writeFileSync(join(data, 'standby.signal'), '')
  writeFileSync(
    join(data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password} ` +
      "application_name=db2'\n",
  )
  // Root gives the files to the account that the primary runs under.
  const { uid, gid } = statSync(directories.primary)
  if (process.getuid?.() === 0) giveTo({ uid, gid }, directories.replica)
  const primary = await start('primary', port)
  const replica = await start('replica')
  let runningReplica = replica
  const replicaPool = openPool(replica.url, { connections: 1 })
  const database = openTestDatabase(t, url)
  t.teardown(() => replicaPool.end())

  async function waitForReplica(): Promise<void> {
    const { rows } = await sql<{ lsn: string }>`select pg_current_wal_lsn()::text as lsn`.execute(
      database.db,
    )
    const hasCaughtUp = async () => {
      const result = await replicaPool.query<{ done: boolean }>(
        'select pg_last_wal_replay_lsn() >= $1::pg_lsn as done',
        [rows[0]?.lsn],
      )
      return result.rows[0]?.done === true
    }
    if (!(await eventually(hasCaughtUp, Boolean, 60_000))) throw new Error('The replica is behind.')
  }
  await waitForReplica()
  return {
    primary,
    replica,
    database,
    urlOfBoth: (one, hosts = [new URL(primary.url).host, new URL(replica.url).host]) =>
      one.replace(new URL(one).host, hosts.join(',')),
    replicaUrl: buildRoleUrl(url, 'api').replace(new URL(url).host, new URL(replica.url).host),
    pauseReplay: async () => void (await replicaPool.query('select pg_wal_replay_pause()')),
    resumeReplay: async () => void (await replicaPool.query('select pg_wal_replay_resume()')),
    crashReplica: async () => {
      process.kill(runningReplica.pid ?? 0, 'SIGQUIT')
      await runningReplica.exited
      running.delete(runningReplica)
    },
    restartReplica: async () => {
      runningReplica = await start('replica', Number(new URL(replica.url).port))
    },
    crashPrimary: async () => {
      await waitForReplica()
      process.kill(primary.pid ?? 0, 'SIGQUIT')
      await primary.exited
      running.delete(primary)
    },
    promoteReplica: async () => void (await replicaPool.query('select pg_promote(true, 60)')),
    restartPrimary: async () => void (await start('primary', port)),
  }
}

/** Creates a migrated database with all roles and returns its URL. */
export async function prepareDatabase(clusterUrl: string): Promise<string> {
  const admin = openDatabase(clusterUrl, { connections: 1 })
  await sql`create database quotes`.execute(admin)
  await admin.destroy()
  const url = new URL(clusterUrl)
  url.pathname = '/quotes'
  const db = openDatabase(url.href, { connections: 1 })
  await migrate(db)
  await recordCompany(db, company)
  await grantRoles(db, logins)
  await db.destroy()
  return url.href
}

function openTestDatabase(t: Test, url: string): TestDatabase {
  const db = openDatabase(url)
  const pool = openPool(url, { connections: 2 })
  t.teardown(async () => {
    await db.destroy()
    await pool.end()
  })
  return {
    db,
    pool,
    url,
    roles: buildRoleUrls(url),
  }
}
