// The triggers on products, which add outbox rows for every registered index.
import t from 'tap'
import { registerIndex } from '../../src/indexing/registration.ts'
import { testDatabase } from '../support/database/test-database.ts'

t.test('an update that changes nothing adds no outbox row', async (t) => {
  const { db, pool } = await testDatabase(t)
  await registerIndex(db, 'main')
  await db.insertInto('products').values({ sku: 'A-1', name: 'Uno' }).execute()
  const readRows = () => db.selectFrom('index_outbox').selectAll().execute()
  t.equal((await readRows()).length, 1)
  await pool.query('delete from index_outbox')
  await pool.query('update products set name = name')
  t.same(await readRows(), [])
})

t.test('a large update is quick after a small one in the same session', async (t) => {
  const { pool } = await testDatabase(t)
  const client = await pool.connect()
  t.teardown(() => client.release(true))
  await client.query(`
    insert into search_indexes (registration_name) values ('main');
    insert into products (sku, name) select 'S-' || n, 'Product' from generate_series(1, 10000) n
  `)
  // The plan for one product compared each old row with each new one: 40 s for these.
  await client.query(`set statement_timeout = '20s'`)
  for (let n = 1; n <= 6; n++)
    await client.query(`update products set name = 'Product ${n}' where sku = 'S-1'`)
  const { rowCount } = await client.query('update products set active = false')
  t.equal(rowCount, 10_000)
})
