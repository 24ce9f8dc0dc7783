// Creates and changes the schema. The first migration runs the files of `schema/` in order. A change
// of the released schema is a file in `migrations/`: databases remember the names of the migrations
// that they have run.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, PostgresIntrospector, sql, type TableMetadata } from 'kysely'
import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  type Migration,
  Migrator,
} from 'kysely/migration'

const schemaFolder = join(import.meta.dirname, 'schema')
const migrationFolder = join(import.meta.dirname, 'migrations')

/** The name of the migration that creates the schema of release 1.0.0. */
const firstMigration = '2026-11-27-schema'

/** Returns the migrations by their names, in order. `folder` has those after the first one. */
async function readMigrations(folder: string): Promise<Record<string, Migration>> {
  const files = await listSqlFiles(folder)
  return {
    [firstMigration]: { up: createSchema },
    ...Object.fromEntries(
      files.map((file) => [
        file.slice(0, -'.sql'.length),
        { up: async (db: Kysely<unknown>) => void (await runFile(db, join(folder, file))) },
      ]),
    ),
  }
}

async function createSchema(db: Kysely<unknown>): Promise<void> {
  // A function may use what a later file creates.
  await sql`set local check_function_bodies = off`.execute(db)
  for (const file of await listSqlFiles(schemaFolder)) await runFile(db, join(schemaFolder, file))
  // The migrator uses this transaction to record the migration.
  await sql`set local check_function_bodies = on`.execute(db)
}

async function listSqlFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith('.sql')).toSorted()
}

async function runFile(db: Kysely<unknown>, path: string): Promise<void> {
  await sql.raw(await readFile(path, 'utf8')).execute(db)
}

/**
 * Applies the pending migrations, each in a transaction of its own. Returns the names of those that
 * this call has applied. Safe to run twice, to be killed at any time, and to run in several
 * processes, which queue on Kysely's advisory lock before each migration. Throws the error of the
 * migration that failed. The earlier ones remain applied.
 */
export async function migrate<DB>(db: Kysely<DB>, folder = migrationFolder): Promise<string[]> {
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
  folder = migrationFolder,
): Promise<string | null> {
  const migrator = await createMigrator(db, folder)
  const { error, results = [] } = await migrator.migrateUp()
  if (error) {
    const failed = results.find(({ status }) => status === 'Error')
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
  folder = migrationFolder,
): Promise<string[]> {
  const migrator = await createMigrator(db, folder)
  return (await migrator.getMigrations())
    .filter((migration) => !migration.executedAt)
    .map((migration) => migration.name)
}

/**
 * Returns the names of the migrations that the database has and this code does not know. Throws if
 * the schema is older than the first release: nothing leads from there to this schema.
 */
export async function readNewerMigrations<DB>(
  db: Kysely<DB>,
  folder = migrationFolder,
): Promise<string[]> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists
  `.execute(db)
  if (!tables[0]?.exists) return []
  const { rows } = await sql<{ name: string }>`
    select name from kysely_migration order by name
  `.execute(db)
  const known = await readMigrations(folder)
  const unknown = rows.map(({ name }) => name).filter((name) => !(name in known))
  if (unknown.some((name) => name < firstMigration)) throw new Error(schemaBeforeFirstRelease)
  return unknown
}

const schemaBeforeFirstRelease =
  'This database has a schema from before release 1.0.0, which cannot be migrated. Create an ' +
  'empty database and import products and quotes into it. The data of `make demo` is deleted ' +
  'by `make clean`, and the next `make demo` creates it again.'

/**
 * The migrator rejects a database with migrations that it does not know. After a newer release has
 * been replaced by this one, these are left as they are.
 */
async function createMigrator<DB>(db: Kysely<DB>, folder: string): Promise<Migrator> {
  const newer = (await readNewerMigrations(db, folder)).map((name) => [
    name,
    { up: async () => undefined },
  ])
  const migrations = { ...(await readMigrations(folder)), ...Object.fromEntries(newer) }
  return new Migrator({ db, provider: { getMigrations: async () => migrations } })
}

/**
 * Tells Kysely's migrator which of its own tables exist. It asks twice for each migration. Kysely
 * itself reads every column of every table, which takes half the time of all migrations.
 */
export class MigrationTables<DB> extends PostgresIntrospector {
  readonly #db: Kysely<DB>

  constructor(db: Kysely<DB>) {
    super(db)
    this.#db = db
  }

  /** Returns the tables of the migrator that exist, without their columns. */
  override async getTables(): Promise<TableMetadata[]> {
    const { rows } = await sql<{ schema: string; name: string }>`
      select relnamespace::regnamespace::text as schema, relname::text as name
      from pg_class
      where relkind = 'r'
        and relname in (${DEFAULT_MIGRATION_TABLE}, ${DEFAULT_MIGRATION_LOCK_TABLE})
    `.execute(this.#db)
    return rows.map((row) => ({ ...row, isView: false, isForeign: false, columns: [] }))
  }
}
