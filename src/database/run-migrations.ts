// Applies the migrations of the folder `migrations/` in the order of their names. A change of the
// schema is a new migration: databases remember the names of those that they have run.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, PostgresIntrospector, sql, type TableMetadata } from 'kysely'
import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  FileMigrationProvider,
  type Migration,
  type MigrationResult,
  Migrator,
} from 'kysely/migration'

const migrationFolder = join(import.meta.dirname, 'migrations')

type Migrations = Record<string, Migration>

let migrations: Promise<Migrations> | undefined

/** Returns the migrations by their names. Reads the folder once, because it does not change. */
function getMigrations(): Promise<Migrations> {
  migrations ??= readMigrations()
  return migrations
}

/** Returns the modules of the folder, and the files of SQL that have no module, by their names. */
async function readMigrations(): Promise<Migrations> {
  const files = { fs: { readdir }, path: { join }, migrationFolder }
  const modules = await new FileMigrationProvider(files).getMigrations()
  const sqlFiles = (await readdir(migrationFolder)).filter((file) => file.endsWith('.sql'))
  const statements = sqlFiles.map((file) => [file.slice(0, -'.sql'.length), sqlMigration(file)])
  return { ...Object.fromEntries(statements), ...modules }
}

const sqlMigration = (file: string): Migration => ({
  async up(db) {
    await sql.raw(await readFile(join(migrationFolder, file), 'utf8')).execute(db)
  },
})

/**
 * Applies the pending migrations, up to `last` if it is given, each in a transaction of its own.
 * Returns the names of those that this call has applied. Safe to run twice, to be killed at any
 * time, and to run in several processes, which queue on Kysely's advisory lock before each
 * migration. Throws the error of the migration that failed. The earlier ones remain applied.
 */
export async function migrate<DB>(db: Kysely<DB>, last?: string): Promise<string[]> {
  const applied: string[] = []
  for (;;) {
    const name = await applyNextMigration(db, last)
    if (name === null) return applied
    applied.push(name)
  }
}

/**
 * Applies the first pending migration in a transaction, unless it comes after `last`. Returns its
 * name, or null if nothing is pending. Throws the error of the migration, and leaves the database
 * as it was before it.
 */
export async function applyNextMigration<DB>(
  db: Kysely<DB>,
  last?: string,
): Promise<string | null> {
  const migrator = await createMigrator(db, last)
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
export async function readPendingMigrations<DB>(db: Kysely<DB>): Promise<string[]> {
  const migrator = await createMigrator(db)
  return (await migrator.getMigrations())
    .filter((migration) => !migration.executedAt)
    .map((migration) => migration.name)
}

/** Returns the names of the migrations that the database has and this code does not know. */
export async function readNewerMigrations<DB>(db: Kysely<DB>): Promise<string[]> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists
  `.execute(db)
  if (!tables[0]?.exists) return []
  const { rows } = await sql<{ name: string }>`
    select name from kysely_migration order by name
  `.execute(db)
  const known = await getMigrations()
  return rows.map(({ name }) => name).filter((name) => !(name in known))
}

/**
 * The migrator rejects a database with migrations that it does not know. After a newer release has
 * been replaced by this one, these are left as they are.
 */
async function createMigrator<DB>(db: Kysely<DB>, last?: string): Promise<Migrator> {
  const known = await getMigrations()
  if (last !== undefined && !(last in known)) throw new Error(`There is no migration ${last}`)
  const newer = (await readNewerMigrations(db)).map((name) => [name, { up: async () => undefined }])
  const wanted = Object.entries(known).filter(([name]) => last === undefined || name <= last)
  const provided = { ...Object.fromEntries(wanted), ...Object.fromEntries(newer) }
  return new Migrator({ db, provider: { getMigrations: async () => provided } })
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
