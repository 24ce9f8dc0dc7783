// Creates a database with the schema, the company and generated quotes.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { readCompany } from '../../../src/company/company-file.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { generateQuotes } from '../support/data/generated-quotes.ts'
import type { BenchDatabase, BenchDatabases } from './databases.ts'

export const company = readCompany(join(import.meta.dirname, '../../../company.example.json'))

/** How often progress is printed, in ms. */
const progressMs = 10_000

/** Generates quotes, and prints how and how long. */
export async function createGeneratedDatabase(
  databases: BenchDatabases,
  count: number,
  { throughTriggers, lines }: { throughTriggers: number; lines: number },
): Promise<BenchDatabase> {
  const database = await databases.create()
  const db = database.unlimited
  await migrate(db)
  await recordCompany(db, company)
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000)
  let printedAt = startedAt
  console.log(`\nGenerating ${formatCount(count)} quotes with ${lines} lines each ...`)
  await generateQuotes(db, count, {
    lines,
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
      '  Nothing is analysed or vacuumed by hand.',
  )
  return database
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/**
 * Waits until autovacuum has removed the dead rows and analysed the tables, as it has in production
 * after a few minutes. Otherwise it would do so at any time during the measurements. Prints which
 * tables it has analysed, because query plans depend on that.
 */
export async function waitForAutovacuum({ unlimited: db }: BenchDatabase): Promise<void> {
  const startedAt = performance.now()
  console.log(`  waiting for autovacuum, at most ${maxVacuumWaitMs / 1_000} s ...`)
  while ((await countTablesToVacuum(db)) > 0) {
    if (performance.now() - startedAt > maxVacuumWaitMs) {
      console.log('  Autovacuum has not finished. The measurements start nevertheless.')
      break
    }
    await sleep(1_000)
  }
  const { rows } = await sql<{ name: string; analysed: boolean }>`
    select relname as name, last_autoanalyze is not null as analysed from pg_stat_user_tables
    where relname ~ ${benchTables} and n_tup_ins > 0 order by relname
  `.execute(db)
  const names = (analysed: boolean) =>
    rows.flatMap((row) => (row.analysed === analysed ? [row.name] : [])).join(', ') || 'none'
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(`  after ${seconds} s; analysed: ${names(true)}; not analysed: ${names(false)}`)
}

/** The tables that are written: quotes, their lines, and the summary. */
const benchTables = '^(quote|customer_|product_f)'

/** PostgreSQL starts autovacuum once a minute. */
const maxVacuumWaitMs = 240_000

/** Counts the tables that exceed a default threshold, or 5,000 dead rows as in our own settings. */
async function countTablesToVacuum(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count
    from pg_stat_user_tables s
      join pg_class on pg_class.oid = relid
      cross join lateral (select greatest(reltuples, 0) as tuples) c
    where s.relname ~ ${benchTables} and (
      n_dead_tup > 5000 + 0.2 * tuples
      or n_ins_since_vacuum > 1000 + 0.2 * tuples
      or n_mod_since_analyze > 50 + 0.1 * tuples
    )
  `.execute(db)
  return rows[0]?.count ?? 0
}
