// How far an index is behind: for each engine, and in bounded time even if many changes are
// pending.
import { sql } from 'kysely'
import t from 'tap'
import { registerIndex } from '../../src/indexing/registration.ts'
import { readIndexLags, readIndexStatuses } from '../../src/indexing/status.ts'
import { testDatabase } from '../support/database/test-database.ts'

t.test('each index has its own lag, and at most 100,000 changes are counted', async (t) => {
  const { db } = await testDatabase(t)
  for (const name of ['main', 'second']) await registerIndex(db, name)
  await sql`delete from index_outbox`.execute(db)
  await sql`
    update search_indexes
    set indexed_at = now() - interval '1 hour', state = 'settled',
      database_identity = database_identity()
  `.execute(db)
  const readLags = () => readIndexLags(db, ['second', 'main', 'unknown'])
  t.match(await readLags(), [
    { registrationName: 'second', lagSeconds: 0, pendingCount: 0 },
    { registrationName: 'main', lagSeconds: 0, pendingCount: 0 },
  ])

  await sql`
    insert into index_outbox (registration_name, product_id)
    select 'second', n from generate_series(1, 100100) n
  `.execute(db)
  const lags = await readLags()
  t.match(lags, [
    { registrationName: 'second', pendingCount: 100_000 },
    { registrationName: 'main', lagSeconds: 0, pendingCount: 0 },
  ])
  t.ok((lags[0]?.lagSeconds ?? 0) >= 3_600, `lag ${lags[0]?.lagSeconds} s`)
  t.match(await readIndexStatuses(db), [
    { registrationName: 'main', pendingCount: 0 },
    { registrationName: 'second', pendingCount: 100_000 },
  ])
})
