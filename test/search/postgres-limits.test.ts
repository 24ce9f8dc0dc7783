// Searches in PostgreSQL while the search engine is down: few run at a time, they are short, they
// end when their client disconnects, and nothing else waits for them.
import { sql } from 'kysely'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { lookUpTimeout } from '../../src/auth/refreshed-cache.ts'
import { fallbackStatementTimeout } from '../../src/database/postgres-pool.ts'
import { overloadedProblem } from '../../src/overload/concurrency-limit.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

const onlyPostgres = { ...withoutEngine, SEARCH_CACHE_MB: 0 }

t.test('while the table of products is locked', async (t) => {
  replaceUntilEnd(t, lookUpTimeout, { ms: 10_000 })
  const service = await testService(t, { config: { ...onlyPostgres, ANONYMOUS_SCOPES: [] } })
  const { app, db, pool } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'test',
    scopes: ['search:read', 'stats:read'],
    unlimited: true,
  })
  const headers = { authorization: `Bearer ${key}` }
  const search = () => app.inject({ url: '/api/search?q=martillo', headers })
  const searchUntilAnswered = () => eventually(search, ({ statusCode }) => statusCode === 200)
  t.equal((await searchUntilAnswered()).statusCode, 200)

  const countSearches = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'active' and query like '%search_document%'
        and pid <> pg_backend_pid()
    `.execute(db)
    return rows[0]?.count ?? 0
  }
  const blocker = await pool.connect()
  const lock = () => blocker.query('begin; lock table products in access exclusive mode')
  const unlock = () => blocker.query('rollback')
  t.teardown(() => blocker.release())

  t.test(
    'few searches wait, the others get a 503, and statistics are still available',
    async (t) => {
      await lock()
      const searchThirtyTimes = async () => {
        let isOver = false
        const searches = Promise.all(Array.from({ length: 30 }, search)).finally(() => {
          isOver = true
        })
        const searching = await eventually(countSearches, (count) => count === 2 || isOver)
        const stats = await app.inject({ url: '/api/stats', headers })
        return { searching, stats, responses: await searches }
      }
      // Repeated, because on a busy machine the searches may end before they are counted.
      const { searching, stats, responses } = await eventually(
        searchThirtyTimes,
        (attempt) => attempt.searching === 2,
      )
      t.equal(searching, 2, 'two connections search')
      t.equal(stats.statusCode, 200, 'statistics and keys have their own connections')
      for (const response of responses) {
        t.equal(response.statusCode, 503)
        t.ok(Number(response.headers['retry-after']) > 0)
      }
      // The others get their 503 before PostgreSQL has run out of connections.
      const rejected = responses.filter(({ body }) => body.includes(overloadedProblem.message))
      t.ok(rejected.length >= 20, `${rejected.length} were rejected because of overload`)
      await unlock()
      t.equal((await searchUntilAnswered()).statusCode, 200)
    },
  )

  t.test('a search ends in PostgreSQL when its client disconnects', async (t) => {
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    await lock()
    const searchAndDisconnect = async () => {
      const startedAt = performance.now()
      const client = new AbortController()
      let isAnswered = false
      const response = fetch(`${url}/api/search?q=martillo`, {
        headers,
        signal: client.signal,
      }).then(
        () => {
          isAnswered = true
        },
        (error: Error) => t.equal(error.name, 'AbortError'),
      )
      await eventually(countSearches, (count) => count === 1 || isAnswered)
      client.abort()
      await response
      t.equal(await eventually(countSearches, (count) => count === 0), 0)
      return { isAnswered, ms: performance.now() - startedAt }
    }
    // PostgreSQL would end the search itself a little later. A busy machine may need another try.
    const isCancelled = ({ isAnswered, ms }: { isAnswered: boolean; ms: number }) =>
      !isAnswered && ms < 0.9 * fallbackStatementTimeout.ms
    const ended = await eventually(searchAndDisconnect, isCancelled)
    t.ok(isCancelled(ended), `ended after ${Math.round(ended.ms)} ms`)
    await unlock()
    t.equal((await searchUntilAnswered()).statusCode, 200, 'the connection is used again')
  })
})

t.test('reports when there are too many products to count facets', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, { config: onlyPostgres, index: false })
  const search = async (query: string) =>
    (await app.inject(`/api/search?${query}`)).json<SearchResponse>()
  await sql`
    insert into products (sku, name, category)
    select 'A-' || n, 'Martillo ' || n, 'Herramientas' from generate_series(1, 900) n
  `.execute(db)
  for (const query of ['q=&facets=category', 'q=martillo&facets=category'])
    t.match(await search(query), { total: 900, facets: { category: { Herramientas: 900 } } }, query)
  await sql`
    insert into products (sku, name, category)
    select 'B-' || n, 'Martillo ' || n, 'Herramientas' from generate_series(1, 400) n
  `.execute(db)
  for (const query of ['q=&facets=category', 'q=martillo&facets=category']) {
    const response = await search(query)
    t.match(response, { total: 1000, meta: { facetsOmitted: true } }, query)
    t.same(response.facets, { category: {} })
  }
})

t.test('reports that facets are omitted if only some products with a code are read', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, { config: onlyPostgres, index: false })
  const addProducts = (count: number, sku: string, name: string) =>
    sql`
      insert into products (sku, name, category)
      select ${sku}::text || n, ${name}::text || n, 'Herramientas'
      from generate_series(1, ${count}::int) n
    `.execute(db)
  const search = (q: string) => searchProducts(app, { q, facets: 'category' })
  await addProducts(150, 'KX742-', 'Llave ')
  const few = await search('742')
  t.match(few, { total: 150, facets: { category: { Herramientas: 150 } } })
  t.notOk(few.meta.facetsOmitted)
  await addProducts(150, 'KY742-', 'Sierra ')
  const many = await search('742')
  t.match(many, { total: 300, meta: { facetsOmitted: true } })
  t.same(many.facets, { category: {} })
  await addProducts(1, 'N', 'Arandela zq ')
  await addProducts(6_000, 'M', 'Arandela ')
  const exact = await search('arandela zq')
  t.match(exact, { hits: [{ sku: 'N1' }], total: 1, facets: { category: { Herramientas: 1 } } })
})

t.test('short words are looked up in a bounded number of products', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, { config: onlyPostgres, index: false })
  await sql`
    insert into products (sku, name)
    select 'A-' || n, 'Tornillo ' || n || case when n = 5 then ' qx' else '' end
    from generate_series(1, 40000) n
  `.execute(db)
  await sql`analyze products`.execute(db)
  const search = (q: string) => searchProducts(app, { q })
  const countRead = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const { rows } = await sql<{ count: number }>`
      select (seq_tup_read + idx_tup_fetch)::int as count
      from pg_stat_user_tables where relname = 'products'
    `.execute(db)
    return rows[0]?.count ?? 0
  }
  t.match(await search('tornillo qx'), { total: 1 })
  // Statistics arrive with a delay: wait until they no longer change.
  let last = -1
  const readSettled = () =>
    eventually(countRead, (count) => {
      const isStill = count === last
      last = count
      return isStill
    })
  const before = await readSettled()
  await search('tornillo zq')
  const after = await eventually(countRead, (count) => count > before)
  t.ok(after > before && after - before < 20_000, `${after - before} products were read`)
})
