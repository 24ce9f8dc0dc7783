// A query that ends in PostgreSQL when its signal aborts.
import { sql } from 'kysely'
import t from 'tap'
import { runCancellableQuery } from '../../src/database/cancellable-query.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'

t.test('an abort ends the query in PostgreSQL and keeps the connection usable', async (t) => {
  const { db, pool } = await testDatabase(t)
  const countSleeping = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and query like '%pg_sleep(600)%' and state = 'active'
        and pid <> pg_backend_pid()
    `.execute(db)
    return rows[0]?.count
  }
  const stop = new AbortController()
  const sleeping = runCancellableQuery(
    { pool, db },
    sql`select pg_sleep(600)`.compile(db),
    stop.signal,
  )
  t.equal(await eventually(countSleeping, (count) => count === 1), 1)
  stop.abort(new Error('nobody waits'))
  await t.rejects(sleeping, /nobody waits/)
  // PostgreSQL sends the error a moment before it shows the connection as idle.
  t.equal(await eventually(countSleeping, (count) => count === 0), 0, 'the query has ended')

  const query = sql<{ one: number }>`select 1 as one`.compile(db)
  t.same(await runCancellableQuery({ pool, db }, query, new AbortController().signal), [{ one: 1 }])
  await t.rejects(runCancellableQuery({ pool, db }, query, stop.signal), /nobody waits/)
  t.equal(pool.totalCount, 1)
})

t.test('a connection is not reused if its cancel request got no response', async (t) => {
  const { db, pool } = await testDatabase(t)
  const unreachable = openDatabase('postgres://127.0.0.1:1/nothing')
  t.teardown(() => unreachable.destroy())
  // The query waits for this lock until after the abort.
  const holder = await db.startTransaction().execute()
  const lock = sql`select pg_advisory_xact_lock(1)`.compile(db)
  await holder.executeQuery(lock)
  const stop = new AbortController()
  const waiting = runCancellableQuery({ pool, db: unreachable }, lock, stop.signal)
  t.ok(await eventually(() => isAnySessionWaiting(db), Boolean))
  stop.abort(new Error('nobody waits'))
  await holder.rollback().execute()
  t.equal((await waiting).length, 1, 'the query was not cancelled')
  t.equal(pool.totalCount, 0)
})
