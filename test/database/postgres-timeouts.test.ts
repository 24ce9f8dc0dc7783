// The timeouts of PostgreSQL connections. Other files test those of Meilisearch, Redis and
// requests.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

const measureMs = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  // The caller asserts the error.
  await work.catch(() => undefined)
  return performance.now() - startedAt
}

t.test('PostgreSQL cancels a statement that exceeds its timeout', async (t) => {
  const { url } = await testDatabase(t)
  const db = openDatabase(url, { connections: 1, settings: { statement_timeout: '200' } })
  t.teardown(() => db.destroy())
  await t.rejects(sql`select pg_sleep(60)`.execute(db), { code: '57014' })
})

t.test('gives up after 3 s if a server does not answer a new connection', async (t) => {
  const { url } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  faultyProxy.stopForwarding()
  const db = openDatabase(faultyProxy.url, { connections: 1 })
  t.teardown(() => db.destroy())
  const query = sql`select 1`.execute(db)
  const ms = await measureMs(query)
  await t.rejects(query)
  t.ok(ms > 2_500 && ms < 10_000, `${ms} ms`)
})

t.test(
  'closes a connection on which the server sends nothing, and opens another for the next query',
  async (t) => {
    const { url } = await testDatabase(t)
    const faultyProxy = await startFaultyProxy(t, url)
    const db = openDatabase(faultyProxy.url, { connections: 1, responseTimeoutMs: 1_000 })
    t.teardown(() => db.destroy())
    await sql`select 1`.execute(db)
    faultyProxy.delayMs = 5_000
    const query = sql`select 2`.execute(db)
    const ms = await measureMs(query)
    await t.rejects(query)
    t.ok(ms > 800 && ms < 4_500, `${ms} ms`)
    faultyProxy.delayMs = 0
    t.match(await sql`select 3 as three`.execute(db), { rows: [{ three: 3 }] })
  },
)

t.test('keeps a connection that is idle for longer than its response timeout', async (t) => {
  const { url } = await testDatabase(t)
  const db = openDatabase(url, { connections: 1, responseTimeoutMs: 200 })
  t.teardown(() => db.destroy())
  const readPid = async () =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]?.pid
  const readTwice = async () => {
    const first = await readPid()
    await new Promise((resolve) => setTimeout(resolve, 700))
    return { first, second: await readPid() }
  }
  // Repeated, because on a busy machine the response itself may come too late.
  const { first, second } = await eventually(
    () => readTwice().catch(() => ({ first: null, second: undefined })),
    (pids) => pids.first === pids.second,
  )
  t.type(first, 'number')
  t.equal(second, first)
})
