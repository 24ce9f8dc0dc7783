// How far an index is behind: for each engine, and in bounded time even if many changes are
// pending.
import { sql } from 'kysely'
import t from 'tap'
import { registerIndex } from '../../src/indexing/registration.ts'
import { readIndexLags, readIndexStatuses } from '../../src/indexing/status.ts'
import { applyNextBatch, leaseTarget } from '../support/database/leased-target.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { testService } from '../support/service/test-service.ts'

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

t.test('while changes are written, all that are pending are counted', async (t) => {
  const { db, target } = await testService(t)
  const leased = await leaseTarget(target)
  while ((await applyNextBatch(leased)) > 0);
  await sql`
    insert into products (sku, name) select 'A-' || n, 'Martillo' from generate_series(1, 12) n
  `.execute(db)
  const countPending = async () =>
    (await readIndexLags(db, [target.registrationName]))[0]?.pendingCount
  await sql`update search_indexes set state = 'writing'`.execute(db)
  t.equal(await countPending(), 12)
  while ((await applyNextBatch(leased)) > 0);
  t.equal(await countPending(), 0)
})
