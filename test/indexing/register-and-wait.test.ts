// The registration of an index, after which every change adds outbox rows for it.
import t from 'tap'
import { openPool } from '../../src/database/postgres-pool.ts'
import { registerIndex } from '../../src/indexing/registration.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'

t.test('every indexer waits for transactions that began before the registration', async (t) => {
  const { db, pool, url } = await testDatabase(t)
  const latePool = openPool(url, { connections: 1, connectionTimeoutMs: 60_000 })
  const late = await latePool.connect()
  await late.query('begin isolation level repeatable read')
  await late.query("insert into products (sku, name) values ('L-1', 'Temprano')")
  let [waits, registered] = [0, 0]
  const register = () =>
    registerIndex(db, 'main', { onWait: () => waits++ }).then(() => {
      registered++
    })
  const first = register()
  await eventually(
    async () => waits,
    (count) => count === 1,
  )
  t.same(
    (await pool.query('select registration_name as name from search_indexes')).rows,
    [{ name: 'main' }],
    'later changes already add outbox rows',
  )
  const second = register()
  t.equal(
    await eventually(
      async () => waits,
      (count) => count === 2,
    ),
    2,
    'the second indexer waits too',
  )
  t.equal(registered, 0)
  await late.query('commit')
  await Promise.all([first, second])
  late.release()
  await latePool.end()
  await register()
  t.equal(waits, 2, 'nobody waits once the registration is complete')
})
