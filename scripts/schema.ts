// Writes src/database/schema.sql: the schema that the migrations make, as one readable file.
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { type Database, openDatabase } from '../src/database/postgres-pool.ts'
import { migrate } from '../src/database/run-migrations.ts'
import { runCommand } from './cli/command.ts'
import { describeSchema } from './schema/describe-schema.ts'
import { startPostgres } from './servers/postgres.ts'

const help = `
Usage: node scripts/schema.ts [--check]

Writes src/database/schema.sql, the schema that the migrations make. It migrates an empty temporary
database on the server of DATABASE_URL (its role must be allowed to create databases), or, if
DATABASE_URL is not set, on a PostgreSQL that it starts in a temporary directory.

  --check  write nothing; exit with status 1 if the file differs from the migrations
`

const file = join(import.meta.dirname, '../src/database/schema.sql')

/** Rejects on a signal, so that what this script has created is removed. */
const stopped = new Promise<never>((_resolve, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => reject(new Error(`Stopped by ${signal}.`)))
})
// It may be rejected before something waits for it.
stopped.catch(() => undefined)

await runCommand(help, { check: { type: 'boolean' } }, async ({ check }) => {
  const { DATABASE_URL: url } = process.env
  const schema = await (url ? describeOnServer(url) : describeOnTemporaryServer())
  const isCurrent = readFile() === schema
  if (isCurrent) {
    console.log('src/database/schema.sql is up to date.')
  } else if (check) {
    console.error('src/database/schema.sql is out of date: run `node scripts/schema.ts`.')
    return 1
  } else {
    writeFileSync(file, schema)
    console.log('Wrote src/database/schema.sql.')
  }
  return 0
})

function readFile(): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // The file does not exist yet.
    return undefined
  }
}

async function describeOnTemporaryServer(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'))
  // When root runs this, PostgreSQL runs under another account, which must be able to enter.
  chmodSync(directory, 0o755)
  try {
    const server = await startPostgres({ directory: join(directory, 'postgres') })
    try {
      return await describeOnServer(server.url)
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Creates a temporary database on the server, migrates it, and describes it. */
async function describeOnServer(serverUrl: string): Promise<string> {
  const name = `schema_${randomBytes(6).toString('hex')}`
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return withDatabase(serverUrl, async (server) => {
    await sql`create database ${sql.id(name)}`.execute(server)
    try {
      const described = withDatabase(url.href, async (db) => {
        await migrate(db)
        return await describeSchema(db)
      })
      return await Promise.race([described, stopped])
    } finally {
      // After a stop the migrations may still be running.
      await sql`drop database ${sql.id(name)} with (force)`.execute(server)
    }
  })
}

async function withDatabase<Result>(
  url: string,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = openDatabase(url, { connections: 2 })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
