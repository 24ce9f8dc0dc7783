// A database for each test, on the servers of the test run.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import tap from 'tap'
import { startTestServers, type TestServers } from '../../../scripts/servers/servers.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import type { FailoverPool } from '../../../src/database/failover/failover-pool.ts'
import { type Database, openDatabase, openPool } from '../../../src/database/postgres-pool.ts'
import {
  grantRoles,
  limitTemporaryTables,
  type Program,
} from '../../../src/database/role-grants.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { company } from './company.ts'
import { buildRoleUrls, logins } from './database-roles.ts'

/** The part of tap's test that this file needs. */
export type Test = { teardown(fn: () => unknown): void }

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
    const started = await startTestServers(directory, 1)
    tap.teardown(async () => {
      await started.stop()
      await rm(directory, { recursive: true, force: true })
    })
    return started
  })()
  return running
}

/** `db`, `pool` and `url` connect as the owner. `roles` holds the URLs that the programs use. */
export type TestDatabase = {
  db: Database
  pool: FailoverPool
  url: string
  roles: Record<Program, string>
}

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
  t.teardown(async () => sql`drop database ${sql.id(name)} with (force)`.execute(await openAdmin()))
  const database = openTestDatabase(t, databaseNamed(databaseUrl, name))
  // The template contains all grants except this one, which belongs to the database itself.
  await limitTemporaryTables(database.db, logins)
  return database
}

/** Opens a migrated database until the test ends. */
export function openTestDatabase(t: Test, url: string): TestDatabase {
  const db = openDatabase(url, { connectionTimeoutMs })
  const pool = openPool(url, { connections: 4, connectionTimeoutMs })
  t.teardown(async () => {
    await db.destroy()
    await pool.end()
  })
  return { db, pool, url, roles: buildRoleUrls(url) }
}

/** Creates an empty database without migrations. It is dropped when the test ends. */
export async function emptyDatabase(t: Test): Promise<string> {
  const { databaseUrl } = await servers()
  const name = `test_${randomBytes(6).toString('hex')}`
  await sql`create database ${sql.id(name)}`.execute(await openAdmin())
  t.teardown(async () => sql`drop database ${sql.id(name)} with (force)`.execute(await openAdmin()))
  return databaseNamed(databaseUrl, name)
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
      await prepareSchema(databaseNamed(databaseUrl, making))
      await sql`alter database ${sql.id(making)} rename to ${sql.id(template)}`.execute(connection)
    } finally {
      await sql`select pg_advisory_unlock(71)`.execute(connection)
    }
  })
}

/** Migrates an empty database, records `company` and creates the roles of the programs. */
export async function prepareSchema(url: string): Promise<void> {
  const db = openDatabase(url, { connections: 2, connectionTimeoutMs })
  await migrate(db)
  await recordCompany(db, company)
  await grantRoles(db, logins)
  await db.destroy()
}

function databaseNamed(url: string, name: string): string {
  const named = new URL(url)
  named.pathname = `/${name}`
  return named.href
}
