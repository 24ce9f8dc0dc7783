// Plans are cached for each connection. One that was made while nothing was unfolded must also suit
// many unfolded rows.
import { sql } from 'kysely'
import t from 'tap'
import { type Database, openPool } from '../../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../../src/database/prepared-statements.ts'
import { readStats } from '../../../src/stats/read-stats.ts'
import { foldBatch } from '../../../src/stats/summary/fold-changes.ts'
import { company } from '../../support/database/company.ts'
import { testDatabase } from '../../support/database/test-database.ts'

const unfoldedTables = ['quote_figures_unfolded_days', 'quote_figures_unfolded_totals']
const questions = {
  'parts of months': { from: '2023-02-15', to: '2025-10-20' },
  'a comparison': { from: '2025-01-01', to: '2025-11-21', compare: 'previous_year' },
} as const

t.test('a plan made before a bulk write does not read all unfolded rows', async (t) => {
  const { db, url } = await testDatabase(t)
  await insertInOneStatement(db, 'A')
  while ((await foldBatch(db)) > 0);
  // As autovacuum does: the tables are known to be empty.
  await sql`vacuum analyze`.execute(db)
  const connection = createPreparingKysely(openPool(url, { connections: 1 }))
  t.teardown(() => connection.destroy())
  const ask = (question: object) =>
    readStats(connection, company, { date: 'issued', today: '2025-11-21', ...question })
  for (const question of Object.values(questions)) await ask(question)

  await insertInOneStatement(db, 'B')
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from quote_figures_unfolded_days)::integer as count
  `.execute(db)
  const unfolded = rows[0]?.count ?? 0
  t.ok(unfolded > 2_000, `${unfolded} unfolded rows of days`)
  for (const [name, question] of Object.entries(questions)) {
    const before = await countRowsRead(connection)
    const { stats } = await ask(question)
    const read = (await countRowsRead(connection)) - before
    t.ok(stats.quotes.total > 0, 'quotes of the period')
    t.ok(read > 0 && read < unfolded / 4, `${name}: ${read} rows read of ${unfolded}`)
  }
})

/** Inserts 3,000 quotes, one on each of about a thousand days in three countries. */
async function insertInOneStatement(db: Database, prefix: string): Promise<void> {
  await sql`
    insert into quotes (number, status, country, currency, rate, issued_on, net, gross)
    select ${prefix} || n, 'accepted', (array['ES', 'FR', 'PT'])[1 + n % 3], 'EUR', 1,
      date '2023-01-01' + n % 1050, 10, 10
    from generate_series(1, 3000) as n
  `.execute(db)
}

/** Returns how many unfolded rows the connection has fetched so far. */
async function countRowsRead(connection: Database): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(connection)
  const { rows } = await sql<{ count: number }>`
    select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::integer as count
    from pg_stat_user_tables where relname = any(${unfoldedTables})
  `.execute(connection)
  return rows[0]?.count ?? 0
}
