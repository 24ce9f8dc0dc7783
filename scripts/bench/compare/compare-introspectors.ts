// Compares two ways to tell Kysely's migrator which of its tables exist: processor time of all
// migrations of an empty database.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Pool } from 'pg'
import { MigrationTables, migrate } from '../../../src/database/run-migrations.ts'
import { runCommand } from '../../cli/command.ts'
import { startPostgres } from '../../servers/postgres.ts'
import { median } from '../support/load/quantile.ts'

const help = `
Usage: node scripts/bench/compare/compare-introspectors.ts [--rounds N]

Migrates an empty database: with our list of the migrator's tables, and with Kysely's introspection,
which reads every column of every table. The two take turns in each round. Prints the median elapsed
time of all migrations, and the processor time of this process.

  --rounds N  rounds (5)
`

const variants = ['ours', 'Kysely'] as const
type Variant = (typeof variants)[number]
type Measurement = { elapsedMs: number; processorMs: number }

await runCommand(help, { rounds: { type: 'string', default: '5' } }, async ({ rounds }) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  const server = await startPostgres({ directory })
  const measurements: Record<Variant, Measurement[]> = { ours: [], Kysely: [] }
  try {
    for (let round = 0; round < Number(rounds); round += 1)
      for (const variant of variants)
        measurements[variant].push(await measure(server.url, variant, `${variant}_${round}`))
  } finally {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
  for (const variant of variants) {
    const elapsed = median(measurements[variant].map(({ elapsedMs }) => elapsedMs))
    const processor = median(measurements[variant].map(({ processorMs }) => processorMs))
    console.log(`${variant.padEnd(8)} ${elapsed.toFixed(0)} ms, ${processor.toFixed(0)} ms here`)
  }
  return 0
})

/** Creates the database `name` on the server and migrates it. */
async function measure(serverUrl: string, variant: Variant, name: string): Promise<Measurement> {
  const admin = open(serverUrl, 'Kysely')
  await sql`create database ${sql.id(name)}`.execute(admin)
  await admin.destroy()
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const db = open(String(url), variant)
  const startedAt = performance.now()
  const usage = process.cpuUsage()
  await migrate(db)
  const { user, system } = process.cpuUsage(usage)
  const elapsedMs = performance.now() - startedAt
  await db.destroy()
  return { elapsedMs, processorMs: (user + system) / 1_000 }
}

function open(connectionString: string, variant: Variant): Kysely<unknown> {
  const dialect = new PostgresDialect({ pool: new Pool({ connectionString, max: 1 }) })
  if (variant === 'ours') dialect.createIntrospector = (db) => new MigrationTables(db)
  return new Kysely({ dialect })
}
