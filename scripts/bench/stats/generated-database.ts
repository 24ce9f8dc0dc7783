// Creates a database with the schema, the company and generated quotes.
import { join } from 'node:path'
import { sql } from 'kysely'
import { readCompany, recordCompany } from '../../../src/company/company.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { generateQuotes } from '../support/generated-quotes.ts'
import type { BenchDatabase, BenchDatabases } from './databases.ts'

export const company = readCompany(join(import.meta.dirname, '../../../company.example.json'))

/** How often progress is printed, in ms. */
const progressMs = 10_000

/** Generates quotes, and prints how and how long. */
export async function createGeneratedDatabase(
  databases: BenchDatabases,
  count: number,
  throughTriggers: number,
): Promise<BenchDatabase> {
  const database = await databases.create()
  const db = database.unlimited
  await migrate(db)
  await recordCompany(db, company)
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000)
  let printedAt = startedAt
  console.log(`\nGenerating ${formatCount(count)} quotes ...`)
  await generateQuotes(db, count, {
    throughTriggers,
    onProgress(done) {
      if (performance.now() - printedAt < progressMs || done === count) return
      printedAt = performance.now()
      console.log(`  ${formatCount(done)} after ${seconds()} s`)
    },
  })
  const written = Math.min(count, throughTriggers)
  const before =
    count > written
      ? `${formatCount(count - written)} without triggers, and a summary rebuilt from them; then `
      : ''
  console.log(
    `  ${before}${formatCount(written)} through the triggers and folded, in ${seconds()} s.\n` +
      `  Nothing was analysed or vacuumed by hand. ${await describeAutovacuum(db)}`,
  )
  return database
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** Says which of the tables with rows autovacuum has analysed, on which query plans depend. */
async function describeAutovacuum(db: Database): Promise<string> {
  const { rows } = await sql<{ name: string; analysed: boolean }>`
    select relname as name, last_autoanalyze is not null as analysed from pg_stat_user_tables
    where relname like 'quote%' and n_live_tup > 0 order by relname
  `.execute(db)
  const names = (analysed: boolean) =>
    rows.flatMap((row) => (row.analysed === analysed ? [row.name] : [])).join(', ') || 'none'
  return `Analysed by autovacuum: ${names(true)}; not yet: ${names(false)}.`
}
