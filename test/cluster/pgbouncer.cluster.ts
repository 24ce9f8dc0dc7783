// Every program works through a real PgBouncer in transaction mode, and its limits hold there.
import { once } from 'node:events'
import { get } from 'node:http'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { runCancellableQuery } from '../../src/database/cancellable-query.ts'
import { createKysely, openApiPool, openPool } from '../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../src/database/prepared-statements.ts'
import type { Tables } from '../../src/database/table-types.ts'
import { isBehindPooler } from '../../src/database/transaction-pooling.ts'
import { runInImportTransaction } from '../../src/imports/import-transaction.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { servers, type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { startPgBouncer } from '../support/servers/pgbouncer.ts'
import { startApi, testService } from '../support/service/test-service.ts'

/** Every client of the same user shares one connection to PostgreSQL. */
const oneConnection = ['pool_mode = transaction', 'default_pool_size = 1']

/** Opens a pool through PgBouncer that closes with the test. */
function openThrough(t: Test, url: string, options: Parameters<typeof openPool>[1] = {}) {
  const pool = openPool(url, options)
  t.teardown(() => pool.end())
  return pool
}

t.test('the API starts and answers statistics, links, keys and searches', async (t) => {
  const service = await testService(t)
  const bouncer = await startPgBouncer(t, service.url)
  const url = bouncer.through(service.roles.api)
  const refused = new pg.Client({ connectionString: url, statement_timeout: 10_000 })
  refused.on('error', () => undefined)
  await t.rejects(refused.connect(), /unsupported startup parameter/, 'PgBouncer is in between')

  await addQuote(service.db, 'P-1', { status: 'accepted', decided_on: '2026-11-02' })
  const token = await createQuoteLink(service.db, { number: 'P-1' })
  await service.db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  const key = await createApiKey(service.db, {
    kind: 'secret',
    name: 'ERP',
    scopes: ['search:read', 'stats:read'],
  })
  // Without an engine PostgreSQL answers searches.
  const api = await startApi(t, service, {
    DATABASE_URL: url,
    ANONYMOUS_SCOPES: '',
    MEILI_URL: 'http://127.0.0.1:9',
    COUNT_VIEWS: 'true',
  })
  const headers = { authorization: `Bearer ${key}` }
  const read = async (path: string) => {
    const response = await fetch(`${api.url}${path}`, { headers })
    return { status: response.status, body: await response.text() }
  }
  const period = 'from=2026-11-01&to=2026-11-30'
  t.match(await read(`/api/stats?${period}`), { status: 200, body: /"revenue"/ })
  t.match(await read(`/api/stats?${period}&currency=EUR`), { status: 200 })
  t.match(await read('/api/search?q=martillo'), { status: 200, body: /AB-1/ })
  t.match(await read(`/quote/share/${token}?format=json`), { status: 200, body: /P-1/ })
  t.match(await fetch(`${api.url}/api/search?q=x`), { status: 401 })
  // `fetch` would say that it does not open a page, and that is no view.
  const agent = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' }
  await once(get(`${api.url}/quote/share/${token}`, { headers: agent }), 'response')
  const viewCount = () => service.db.selectFrom('quote_share_views').selectAll().execute()
  t.equal((await eventually(viewCount, ({ length }) => length > 0)).length, 1, 'writes arrive')
  t.match(api.output(), /PostgreSQL is behind a pooler/)
})

t.test('limits hold, and those of a search do not reach the next client', async (t) => {
  const { url, roles, db } = await testDatabase(t)
  const bouncer = await startPgBouncer(t, url, oneConnection)
  const pool = openThrough(t, bouncer.through(roles.api))
  t.equal(await isBehindPooler(pool), true)
  t.equal(await isBehindPooler(openThrough(t, url)), false)
  const readLimit = sql<{ limit: string }>`select current_setting('statement_timeout') as limit`
  const ofApi = () => pool.query(readLimit.compile(db).sql)
  t.match(await ofApi(), { rows: [{ limit: '10s' }] }, 'a setting of the role')

  const search = (statement: RawBuilder<unknown>) =>
    runCancellableQuery(
      { pool, db, settings: 'set local statement_timeout = 300' },
      statement.compile(db),
      new AbortController().signal,
    )
  await t.rejects(search(sql`select pg_sleep(60)`), { code: '57014' })
  const both = await Promise.all(
    Array.from({ length: 10 }, () => [search(readLimit), ofApi()]).flat(),
  )
  t.equal(both.length, 20)
  for (const [place, result] of both.entries())
    t.match(result, place % 2 === 0 ? [{ limit: '300ms' }] : { rows: [{ limit: '10s' }] })
})

t.test(
  'statements are not prepared by name, which the next connection would not know',
  async (t) => {
    const { url } = await testDatabase(t)
    const bouncer = await startPgBouncer(t, url)
    const db = createPreparingKysely(openThrough(t, bouncer.through(url)))
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        sql<{ n: number }>`select ${n}::int as n, pg_sleep(0.01)`.execute(db),
      ),
    )
    t.same(
      results.map(({ rows }) => rows[0]?.n),
      Array.from({ length: 50 }, (_, n) => n),
    )
  },
)

t.test('an abort cancels its own query, not that of another client', async (t) => {
  const { url } = await testDatabase(t)
  const bouncer = await startPgBouncer(t, url, ['pool_mode = transaction', 'default_pool_size = 3'])
  const pool = openThrough(t, bouncer.through(url))
  const db = createKysely(openApiPool(bouncer.through(url)))
  t.teardown(() => db.destroy())
  const stop = new AbortController()
  const sleeping = runCancellableQuery(
    { pool, db },
    sql`select pg_sleep(60)`.compile(db),
    stop.signal,
  )
  const others = Promise.all(
    Array.from({ length: 20 }, () => sql`select pg_sleep(0.05)`.execute(db)),
  )
  await new Promise((resolve) => setTimeout(resolve, 200))
  stop.abort(new Error('nobody waits'))
  await t.rejects(sleeping, /nobody waits/)
  t.equal((await others).length, 20)
})

t.test('imports, and a stopped import cancels its own statement', async (t) => {
  const database = await testDatabase(t)
  // Each transaction gets another connection.
  const bouncer = await startPgBouncer(t, database.url, [
    'pool_mode = transaction',
    'server_round_robin = 1',
  ])
  const url = bouncer.through(database.roles.importer)
  const program = startProgram(t, ['scripts/import.ts', 'products', '-'], {
    IMPORTER_DATABASE_URL: url,
  })
  program.child.stdin?.end('sku,name\nA,Hammer\nB,Saw\n')
  t.equal(await program.exit, 0, program.output())
  t.match(program.output(), /products: 2 inserted/)

  const pool = openThrough(t, url, { connections: 2 })
  const others = openThrough(t, url)
  await Promise.all(Array.from({ length: 5 }, () => others.query('select pg_sleep(0.2)')))
  const stop = new AbortController()
  const importing = runInImportTransaction(
    pool,
    { kind: 'products', signal: stop.signal },
    async (client) => {
      setTimeout(() => stop.abort(new Error('stopped')), 300)
      await client.query('select pg_sleep(60)')
    },
  )
  const startedAt = performance.now()
  await t.rejects(importing, /stopped/)
  t.ok(performance.now() - startedAt < 30_000, 'the statement did not run to its end')
})

t.test('the indexer builds and follows an index', async (t) => {
  const service = await testService(t, { index: false })
  const bouncer = await startPgBouncer(t, service.url)
  const { meiliMasterKey } = await servers()
  await service.db.insertInto('products').values({ sku: 'A', name: 'Hammer' }).execute()
  const program = startProgram(t, ['scripts/indexer.ts', 'build'], {
    INDEXER_DATABASE_URL: bouncer.through(service.roles.indexer),
    MEILI_URL: service.config.MEILI_URL,
    MEILI_MASTER_KEY: meiliMasterKey,
    SEARCH_INDEX: service.config.SEARCH_INDEX,
  })
  t.equal(await program.exit, 0, program.output())
})

t.test('migrations say that they need PostgreSQL itself', async (t) => {
  const { url } = await testDatabase(t)
  const bouncer = await startPgBouncer(t, url)
  const program = startProgram(t, ['scripts/migrate.ts'], {
    DATABASE_URL: bouncer.through(url),
    COMPANY_FILE: 'company.example.json',
  })
  t.equal(await program.exit, 1)
  t.match(program.output(), /DATABASE_URL leads through a pooler.*let DATABASE_URL lead to Postgre/)
})

t.test('session mode works too, and statement mode is named as the reason', async (t) => {
  const { url } = await testDatabase(t)
  const count = async (database: Pick<TestDatabase, 'url'>, mode: string) => {
    const bouncer = await startPgBouncer(t, database.url, [`pool_mode = ${mode}`])
    const db = createKysely(openThrough(t, bouncer.through(database.url)))
    const read = (transaction: Kysely<Tables>) => sql`select 1`.execute(transaction)
    return (await db.transaction().execute(read)).rows.length
  }
  t.equal(await count({ url }, 'session'), 1)
  await t.rejects(count({ url }, 'statement'), /transaction.*not allowed in statement pooling mode/)
})
