// Nothing is waited for without end. What the other files prove: the engine and Redis that hang, requests that never end. Here: PostgreSQL.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { testDatabase } from '../support/test-service.ts'

const elapsed = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await work.catch(() => undefined)
  return performance.now() - startedAt
}

t.test('a statement that takes too long is ended by the server', async (t) => {
  const { url } = await testDatabase(t)
  const db = openDatabase(url, { connections: 1, statementTimeoutMs: 200 })
  t.teardown(() => db.destroy())
  await t.rejects(sql`select pg_sleep(60)`.execute(db), { code: '57014' })
})

t.test('a server that says nothing to a new connection is given up after 3 s', async (t) => {
  const { url } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  faultyProxy.stopForwarding()
  const db = openDatabase(faultyProxy.url, { connections: 1 })
  t.teardown(() => db.destroy())
  const asking = sql`select 1`.execute(db)
  const ms = await elapsed(asking)
  await t.rejects(asking)
  t.ok(ms > 2_500 && ms < 10_000, `${ms} ms`)
})

t.test(
  'a connection on which the server falls silent is broken off, and the next query gets another',
  async (t) => {
    const { url } = await testDatabase(t)
    const faultyProxy = await startFaultyProxy(t, url)
    const db = openDatabase(faultyProxy.url, { connections: 1, responseTimeoutMs: 1_000 })
    t.teardown(() => db.destroy())
    await sql`select 1`.execute(db)
    faultyProxy.delayMs = 5_000
    const asking = sql`select 2`.execute(db)
    const ms = await elapsed(asking)
    await t.rejects(asking)
    t.ok(ms > 800 && ms < 4_500, `${ms} ms`)
    faultyProxy.delayMs = 0
    t.match(await sql`select 3 as three`.execute(db), { rows: [{ three: 3 }] })
  },
)

t.test('a connection that is idle for longer stays', async (t) => {
  const { url } = await testDatabase(t)
  const db = openDatabase(url, { connections: 1, responseTimeoutMs: 200 })
  t.teardown(() => db.destroy())
  const pid = async () =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
  const first = await pid()
  await new Promise((resolve) => setTimeout(resolve, 700))
  t.equal(await pid(), first)
})
