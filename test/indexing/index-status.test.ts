// How far an index is behind: for each engine, and in bounded time even if many changes are
// pending.
import { sql } from 'kysely'
import t from 'tap'
import { readIndexLags, readIndexStatuses } from '../../src/indexing/index-status.ts'
import { emptySnapshot } from '../../src/indexing/outbox.ts'
import { registerIndex } from '../../src/indexing/register-index.ts'
import { testDatabase } from '../support/test-database.ts'

t.test('each index has its own lag, and at most 10,000 changes are counted', async (t) => {
  const { db } = await testDatabase(t)
  for (const name of ['main', 'second']) await registerIndex(db, name)
  await sql`delete from index_outbox`.execute(db)
  await sql`
    update search_indexes
    set indexed_at = now() - interval '1 hour', is_writing = false,
      settled_snapshot = ${emptySnapshot}::pg_snapshot, database_identity = database_identity()
  `.execute(db)
  const readLags = () => readIndexLags(db, ['second', 'main', 'unknown'])
  t.match(await readLags(), [
    { registrationName: 'second', lagSeconds: 0, pendingCount: 0 },
    { registrationName: 'main', lagSeconds: 0, pendingCount: 0 },
  ])

  await sql`
    insert into products (sku, name) select 'A-' || n, 'Martillo' from generate_series(1, 12000) n
  `.execute(db)
  await sql`delete from index_outbox where registration_name = 'main'`.execute(db)
  const lags = await readLags()
  t.match(lags, [
    { registrationName: 'second', pendingCount: 10_000 },
    { registrationName: 'main', lagSeconds: 0, pendingCount: 0 },
  ])
  t.ok((lags[0]?.lagSeconds ?? 0) >= 3_600, `lag ${lags[0]?.lagSeconds} s`)
  t.match(await readIndexStatuses(db), [
    { registrationName: 'main', pendingCount: 0 },
    { registrationName: 'second', pendingCount: 10_000 },
  ])
})
