// Creates the schema and applies the migrations. The folder `schema/` is the schema of version
// 1.0.0: its files are executed in the order of their names, as the first migration. A released
// schema changes only by a new migration, a .sql file in the folder `migrations/`, whose name begins
// with the next number, such as 0002. Databases remember the names of those that they have run.
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { type Migration, type MigrationResult, Migrator } from 'kysely/migration'

const schemaFolder = join(import.meta.dirname, 'schema')
const ownFolder = join(import.meta.dirname, 'migrations')
export const schemaMigration = '0001-schema'

type Migrations = Record<string, Migration>

async function readMigrations(folder: string): Promise<Migrations> {
  // Git keeps no empty folder: there is none before the first migration.
  const files = existsSync(folder) ? await readdir(folder) : []
  return {
    [schemaMigration]: { up: (db) => executeFiles(db, schemaFolder) },
    ...Object.fromEntries(
      files.map((file) => [
        basename(file, '.sql'),
        { up: (db: Kysely<unknown>) => executeFile(db, join(folder, file)) },
      ]),
    ),
  }
}

async function executeFiles(db: Kysely<unknown>, folder: string): Promise<void> {
  for (const file of (await readdir(folder)).toSorted()) await executeFile(db, join(folder, file))
}

async function executeFile(db: Kysely<unknown>, file: string): Promise<void> {
  await sql.raw(await readFile(file, 'utf8')).execute(db)
}

/**
 * Applies the pending migrations, each in a transaction of its own. Returns the names of those that
 * this call has applied. Safe to run twice, to be killed at any time, and to run in several
 * processes, which queue on Kysely's advisory lock before each migration. Throws the error of the
 * migration that failed. The earlier ones remain applied.
 */
export async function migrate<DB>(db: Kysely<DB>, folder = ownFolder): Promise<string[]> {
  const applied: string[] = []
  for (;;) {
    const name = await applyNextMigration(db, folder)
    if (name === null) return applied
    applied.push(name)
  }
}

/**
 * Applies the first pending migration in a transaction. Returns its name, or null if nothing is
 * pending. Throws the error of the migration, and leaves the database as it was before it.
 */
export async function applyNextMigration<DB>(
  db: Kysely<DB>,
  folder = ownFolder,
): Promise<string | null> {
  const migrator = await createMigrator(db, folder)
  const { error, results = [] } = await migrator.migrateUp()
  if (error) {
    const failed = results.find((result: MigrationResult) => result.status === 'Error')
    const failure = failed
      ? `Migration ${failed.migrationName} failed`
      : 'The migrations could not begin'
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${failure}: ${reason}`, { cause: error })
  }
  return results[0]?.migrationName ?? null
}

/** Returns the names of the migrations that this code has and the database lacks. */
export async function readPendingMigrations<DB>(
  db: Kysely<DB>,
  folder = ownFolder,
): Promise<string[]> {
  const [known, applied] = [await readMigrations(folder), await readAppliedMigrations(db)]
  requireKnownSchema(applied)
  return Object.keys(known)
    .filter((name) => !applied.includes(name))
    .toSorted()
}

/** Returns the names of the migrations that the database has and this code does not know. */
export async function readNewerMigrations<DB>(
  db: Kysely<DB>,
  folder = ownFolder,
): Promise<string[]> {
  const known = await readMigrations(folder)
  return (await readAppliedMigrations(db)).filter((name) => !(name in known))
}

async function readAppliedMigrations<DB>(db: Kysely<DB>): Promise<string[]> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists
  `.execute(db)
  if (!tables[0]?.exists) return []
  const { rows } = await sql<{ name: string }>`
    select name from kysely_migration order by name
  `.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * The migrator rejects a database with migrations that it does not know. After a newer release has
 * been replaced by this one, these are left as they are. Throws if the database is older than
 * version 1.0.0.
 */
async function createMigrator<DB>(db: Kysely<DB>, folder: string): Promise<Migrator> {
  const known = await readMigrations(folder)
  const applied = await readAppliedMigrations(db)
  requireKnownSchema(applied)
  const newer = applied
    .filter((name) => !(name in known))
    .map((name) => [name, { up: async () => undefined }])
  const provided = { ...known, ...Object.fromEntries(newer) }
  return new Migrator({ db, provider: { getMigrations: async () => provided } })
}

function requireKnownSchema(applied: string[]): void {
  if (applied.length > 0 && !applied.includes(schemaMigration)) throw new Error(tooOld)
}

/** One sentence: the API, scripts/migrate.ts and the demo print it and exit. */
const tooOld =
  'This database was made by a development version before 1.0.0, whose schema cannot be upgraded: ' +
  'for the demo, run `make clean` and then `make demo`, and otherwise export its products and ' +
  'quotes and import them into a new, empty database.'

/** The schema uses features of version 15, such as unique keys in which nulls are equal. */
const oldestVersion = 15

/** Returns the major version of the server. */
export async function readServerVersion<DB>(db: Kysely<DB>): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::integer / 10000 as version
  `.execute(db)
  return rows[0]?.version ?? 0
}

/** Throws an error that says what to do if the schema does not work on this major version. */
export function requireServerVersion(version: number): void {
  if (version >= oldestVersion) return
  throw new Error(
    `PostgreSQL ${version} is too old: the service needs ${oldestVersion} or newer. ` +
      'Nothing was changed. Upgrade PostgreSQL first.',
  )
}
