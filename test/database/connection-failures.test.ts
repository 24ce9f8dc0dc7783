// A connection that breaks fails a query, but never ends the process.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pTimeout from 'p-timeout'
import t from 'tap'
import { isPostgresUnavailable } from '../../src/database/failover/broken-connections.ts'
import { retryIfConnectionBreaks } from '../../src/database/failover/retry-reads.ts'
import { openDatabase, openPool } from '../../src/database/postgres-pool.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

const connections = new URL('../../src/database/postgres-pool.ts', import.meta.url).href

t.test(
  'a backend that ends within a transaction fails the next statement, and later queries work',
  async (t) => {
    const { url, pool } = await testDatabase(t)
    // In a process of its own, because an unhandled error event would end this one.
    const program = startProgram(
      t,
      [
        '--input-type=module',
        '--eval',
        `import { openPool } from '${connections}'
       const pool = openPool('${url}', { connections: 1 })
       const client = await pool.connect()
       await client.query('begin')
       const { rows } = await client.query('select pg_backend_pid() as pid')
       console.log('pid ' + rows[0].pid)
       await new Promise((resolve) => process.stdin.once('data', resolve))
       console.log(await client.query('select 1').then(() => 'worked', () => 'failed'))
       client.release(true)
       console.log('then ' + (await pool.query('select 2 as n')).rows[0].n)
       await pool.end()
       process.stdin.destroy()`,
      ],
      {},
    )
    const backendPid = await eventually(
      async () => /pid (\d+)/.exec(program.output())?.[1],
      (pid) => pid !== undefined,
    )
    await pool.query('select pg_terminate_backend($1)', [backendPid])
    await eventually(
      async () =>
        (await pool.query('select from pg_stat_activity where pid = $1', [backendPid])).rowCount,
      (count) => count === 0,
    )
    program.child.stdin?.write('\n')
    t.equal(await program.exit, 0, program.output())
    t.match(program.output(), /failed\s+then 2/)
  },
)

t.test('a transaction that only reads is repeated if its connection breaks', async (t) => {
  const { url } = await testDatabase(t)
  const proxy = await startFaultyProxy(t, url)
  const db = openDatabase(proxy.url, { connections: 2 })
  t.teardown(() => db.destroy())
  const cutText = 'select 7 as cut'
  proxy.cut = { text: cutText, times: 1 }
  const read = () =>
    db.transaction().execute(async (transaction) => {
      try {
        return await sql<{ cut: number }>`${sql.raw(cutText)}`.execute(transaction)
      } catch (error) {
        // The driver may have noticed the end of the connection before the rollback, or not.
        await sleep(100)
        throw error
      }
    })
  const { rows } = await retryIfConnectionBreaks(read)
  t.same(rows, [{ cut: 7 }])
  t.equal(proxy.cut.times, 0, 'the first connection was cut')
})

t.test('replaces idle and busy connections that are cut, also behind Kysely', async (t) => {
  const { url } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  const [db, pool] = [
    openDatabase(faultyProxy.url, { connections: 2 }),
    openPool(faultyProxy.url, { connections: 2 }),
  ]
  t.teardown(async () => {
    await db.destroy()
    await pool.end()
  })
  await Promise.all([sql`select 1`.execute(db), pool.query('select 1')])
  await t.rejects(
    db.transaction().execute(async (transaction) => {
      await sql`select 1`.execute(transaction)
      faultyProxy.refuseConnections()
      await sql`select 2`.execute(transaction)
    }),
  )
  await t.rejects(pool.query('select 3'))
  faultyProxy.restore()
  t.equal((await sql<{ n: number }>`select 4 as n`.execute(db)).rows[0]?.n, 4)
  t.equal((await pool.query('select 5 as n')).rows[0]?.n, 5)
})

t.test('an outage of PostgreSQL is told from a defect of the service', async (t) => {
  const { url, roles } = await testDatabase(t)
  const proxy = await startFaultyProxy(t, url)
  const open = (address: string, settings = {}) => {
    const options = { connections: 1, connectionTimeoutMs: 3_000, settings }
    const pool = openPool(address, options)
    t.teardown(() => pool.end())
    return pool
  }
  const errorOf = async (work: () => Promise<unknown>) =>
    work().then(
      () => null,
      (error: unknown) => error,
    )
  const none = Object.assign(new URL(url), { pathname: '/none' }).href
  const busy = open(url)
  const client = await busy.connect()
  proxy.refuseConnections()
  for (const [what, work] of [
    ['no server', () => open(proxy.url).query('select 1')],
    ['no free connection', () => busy.query('select 1')],
    [
      'a statement timeout',
      () => open(url, { statement_timeout: '50' }).query('select pg_sleep(60)'),
    ],
    ['no such database', () => open(none).query('select 1')],
    ['a late promise', () => pTimeout(new Promise(() => undefined), { milliseconds: 1 })],
  ] as const)
    t.ok(isPostgresUnavailable(await errorOf(work)), what)
  client.release()
  for (const [what, work] of [
    ['a wrong statement', () => open(url).query('select * from none')],
    ['a missing right', () => open(roles.api).query('delete from quotes')],
    ['a wrong program', () => Promise.reject(new TypeError('undefined is not a function'))],
  ] as const)
    t.notOk(isPostgresUnavailable(await errorOf(work)), what)
})
