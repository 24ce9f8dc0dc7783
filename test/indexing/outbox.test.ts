// The outbox: deleted rows that PostgreSQL keeps while an old snapshot is in use are not read, and a
// row counts as applied only for its own index and product.
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

// After a failover that lost commits, the outbox gives the same ids to other rows.
t.test('a change counts as applied only for its own index and product', async (t) => {
  const { db } = await testDatabase(t)
  const { rows } = await sql<{ id: string; product: string }>`
    insert into index_outbox (registration_name, product_id)
    values ('main', 1), ('second', 1), ('main', 2), ('main', null)
    returning id, product_id as product
  `.execute(db)
  const lease = await acquireTestLease(db)
  const deleteRows = (productId: string | null) =>
    executeUnderLease(db, lease, (transaction) =>
      deleteOutboxRows(
        transaction,
        'main',
        rows.map(({ id }) => ({ id, productId })),
      ),
    )
  const readLeft = () =>
    db.selectFrom('index_outbox').select(['registration_name', 'product_id']).execute()
  await deleteRows('1')
  t.same(await readLeft(), [
    { registration_name: 'second', product_id: '1' },
    { registration_name: 'main', product_id: '2' },
    { registration_name: 'main', product_id: null },
  ])
  await deleteRows(null)
  t.same(await readLeft(), [
    { registration_name: 'second', product_id: '1' },
    { registration_name: 'main', product_id: '2' },
  ])
})
