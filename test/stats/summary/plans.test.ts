// The queries of statistics and the fold use their indexes: the cost of a request or of a change
// does not grow with the number of quotes.
import { sql } from 'kysely'
import t from 'tap'
import { generateQuotes } from '../../../scripts/bench/data/generated-quotes.ts'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { readStats } from '../../../src/stats/read-stats.ts'
import type { StatsRequest } from '../../../src/stats/schema.ts'
import { checkNextMonth } from '../../../src/stats/summary/check-months.ts'
import { foldUntilCurrent } from '../../../src/stats/summary/fold-statistics.ts'
import { company } from '../../support/database/company.ts'
import { testDatabase } from '../../support/database/test-database.ts'

const quotes = 1_000

/** The tables that grow with the number of quotes, and how often each was read as a whole. */
const readScans = async (db: Database) => {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ scans: string }>`
    select relname || ' ' || seq_scan as scans from pg_stat_user_tables
    where relname in ('quotes', 'quote_lines', 'quote_changes', 'quote_figures',
      'customer_figures', 'product_figures')
    order by 1
  `.execute(db)
  return rows.map(({ scans }) => scans)
}

const part = { from: '2025-02-15', to: '2026-05-20' }
const requests: Partial<StatsRequest>[] = [
  {},
  { country: 'BR', currency: 'EUR' },
  { ...part, compare: 'previous_year' },
  { from: '2026-03-10', to: '2026-05-20', by: 'day' },
  { by: 'customer', ...part },
  { by: 'product', ...part },
  { by: 'product', country: 'BR', date: 'accepted', ...part },
]

t.test('no request, fold or check of a month reads a table as a whole', async (t) => {
  const { url } = await testDatabase(t)
  const db = openDatabase(url, { connections: 1 })
  t.teardown(() => db.destroy())
  await generateQuotes(db, quotes)
  await sql`analyze`.execute(db)
  const change = (numbers: string) =>
    sql`update quotes set net = net + 1, gross = gross + 1, country = 'PT' where number like ${numbers}`
  const expectNoScan = async (what: string, act: () => Promise<unknown>) => {
    const before = await readScans(db)
    await act()
    t.same(await readScans(db), before, what)
  }
  for (const request of requests)
    await expectNoScan(JSON.stringify(request), () =>
      readStats(db, company, { date: 'issued', ...request }),
    )
  for (const numbers of ['B1', 'B1%', '%']) {
    await change(numbers).execute(db)
    await expectNoScan(`folding ${numbers}`, () => foldUntilCurrent(db))
  }
  await expectNoScan('a check', () => checkNextMonth(db, 0))
})
