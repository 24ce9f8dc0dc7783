// The outbox: which changes add rows, from when on, and that deleted rows which PostgreSQL keeps
// while an old snapshot is in use are not read.
import { sql } from 'kysely'
import t from 'tap'
import { openPool } from '../../src/database/postgres-pool.ts'
import { acquireLease, executeUnderLease, type Lease } from '../../src/indexing/lease.ts'
import { deleteOutboxRows, type OutboxRead, readOutbox } from '../../src/indexing/outbox.ts'
import { markContents, markSettled, registerIndex } from '../../src/indexing/registration.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'

const registrationName = 'main'

/** Registers the index and returns its lease. */
async function acquireTestLease(db: TestDatabase['db']): Promise<Lease> {
  await registerIndex(db, registrationName)
  const lease = await acquireLease(db, registrationName, 'a test')
  if (!lease) throw new Error('Another holder has the lease.')
  return lease
}

async function openOutbox(t: Parameters<typeof testDatabase>[0]) {
  const { db, url } = await testDatabase(t)
  const lease = await acquireTestLease(db)
  await executeUnderLease(db, lease, (transaction) =>
    markContents(transaction, registrationName, 'settled'),
  )
  const read = (limit: number) => readOutbox(db, registrationName, limit)
  const readAndDelete = async (limit: number): Promise<OutboxRead> => {
    const found = await read(limit)
    await executeUnderLease(db, lease, async (transaction) => {
      await deleteOutboxRows(transaction, registrationName, found.changes)
      if (found.hasReachedEnd) await markSettled(transaction, registrationName, found)
    })
    return found
  }
  const add = (first: number, last: number) =>
    sql`
      insert into index_outbox (registration_name, product_id)
      select ${registrationName}, n from generate_series(${first}::int, ${last}::int) n
    `.execute(db)
  const openClient = async () => {
    const ownPool = openPool(url, { connections: 1, connectionTimeoutMs: 60_000 })
    const client = await ownPool.connect()
    t.teardown(async () => {
      client.release()
      await ownPool.end()
    })
    return client
  }
  return { db, read, readAndDelete, add, openClient }
}

t.test('does not read deleted rows that an old snapshot still sees', async (t) => {
  const reads = 5
  const { db, read, readAndDelete, add, openClient } = await openOutbox(t)
  const old = await openClient()
  await old.query('begin isolation level repeatable read; select count(*) from products')
  await add(1, 20_000)
  const { rows } = await sql<{ xid: string }>`select xid::text from index_outbox limit 1`.execute(
    db,
  )
  while (!(await readAndDelete(5_000)).hasReachedEnd);
  // A transaction in any database of the server, such as one of another test, holds this back.
  await eventually(
    async () => BigInt((await readAndDelete(5_000)).endedBefore),
    (endedBefore) => endedBefore > BigInt(rows[0]?.xid ?? 0),
  )
  const readCounters = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const { rows } = await sql<{ scans: number; entries: number }>`
      select idx_scan::int as scans, idx_tup_read::int as entries from pg_stat_user_indexes
      where indexrelname = 'index_outbox_order'
    `.execute(db)
    return rows[0] ?? { scans: 0, entries: 0 }
  }
  // Statistics arrive with a delay: wait until they no longer change.
  let last = -1
  const before = await eventually(readCounters, ({ entries }) => {
    const isStill = entries === last && entries > 0
    last = entries
    return isStill
  })
  for (let n = 0; n < reads; n++) t.equal((await read(100)).changes.length, 0)
  const after = await eventually(readCounters, ({ scans }) => scans >= before.scans + reads)
  t.ok(after.scans >= before.scans + reads, 'the statistics of all reads have arrived')
  t.ok(after.entries - before.entries < 1_000, `${after.entries - before.entries} entries`)
})

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
