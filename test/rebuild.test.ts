// How a new index is filled: as much as may wait is put into the engine's queue, and nothing else has to wait for it.
import { sql } from 'kysely'
import { Meilisearch } from 'meilisearch'
import t, { type Test } from 'tap'
import { indexerKey, nextIndexName } from '../src/search/engine-keys.ts'
import { startFilling } from '../src/search/filling.ts'
import { type Lease, takeLease } from '../src/search/lease.ts'
import { rebuild } from '../src/search/rebuild.ts'
import { verify } from '../src/search/verify.ts'
import { eventually, servers, startProgram, type TestService, testService } from './helper.ts'

/** Products with long descriptions, which keep the engine busy for a while, and nothing pending. */
async function withProducts(t: Test, count: number): Promise<TestService> {
  const service = await testService(t)
  await sql`
    insert into products (sku, name, description)
    select 'S-' || n, 'Pieza ' || n, (select string_agg(substr(md5((n * 1000 + k)::text), 1, 6), ' ') from generate_series(1, 40) k)
    from generate_series(1, ${sql.lit(count)}) n
  `.execute(service.db)
  await sql`delete from product_changes`.execute(service.db)
  return service
}

async function unfinished({ engine }: TestService, indexName: string): Promise<number> {
  return (await engine.tasks.getTasks({ indexUids: [indexName], statuses: ['enqueued', 'processing'] })).total
}

/** The filling of an index beside the live one, at the moment at which the engine has much of it to do. */
async function fillingMuch(service: TestService, t: Test, lease?: Lease) {
  const { target, engine } = service
  const indexName = nextIndexName(target.indexName)
  await engine.createIndex(indexName, { primaryKey: 'id' }).waitTask()
  t.teardown(() => engine.deleteIndexIfExists(indexName))
  const next = { ...target, indexName, engineName: 'main~next', lease }
  const filling = startFilling(next, { observer: engine, check: () => undefined, onProgress: () => undefined })
  const tasks = await eventually(
    () => unfinished(service, indexName),
    (tasks) => tasks > 1,
  )
  t.ok(tasks > 1, `${tasks} uploads wait`)
  const documents = async () => (await engine.index(indexName).getStats()).numberOfDocuments
  return { filling, indexName, documents }
}

t.test('what the engine has to do for the new index is taken back for a change, and sent again', async (t) => {
  const service = await withProducts(t, 6_000)
  const { filling, indexName, documents } = await fillingMuch(service, t)
  await filling.giveWay()
  t.equal(await unfinished(service, indexName), 0, 'the engine is free')
  t.ok((await documents()) < 6_000)
  t.equal(await filling.filled, 6_000)
  t.equal(await documents(), 6_000)
})

t.test('a filling that is given up leaves nothing in the queue of the engine', async (t) => {
  const service = await withProducts(t, 6_000)
  const { filling, indexName } = await fillingMuch(service, t)
  filling.stop(new Error('enough'))
  await t.rejects(filling.filled, /enough/)
  t.equal(await unfinished(service, indexName), 0)
})

t.test('an indexer that lost its place while it filled an index queues what it had sent', async (t) => {
  const service = await withProducts(t, 6_000)
  const { db } = service
  const lease = await takeLease(db, 'main', 'the first')
  const { filling } = await fillingMuch(service, t, lease ?? undefined)
  await sql`update indexer_leases set held_until = now() - interval '1 s'`.execute(db)
  t.ok(await takeLease(db, 'main', 'another'))
  filling.stop(new Error('lost'))
  await t.rejects(filling.filled, /lost/)
  const queued = await db.selectFrom('product_changes').select(['engine', 'product_id']).execute()
  t.ok(queued.length >= 3_000, `${queued.length} products`)
  t.ok(queued.every(({ engine, product_id }) => engine === 'main' && product_id !== null))
})

t.test('a document that the engine refuses only when it comes to it is parked, and the others of its upload are there', async (t) => {
  const service = await withProducts(t, 3_000)
  const { config, target, db } = service
  const { rows } = await service.pool.query<{ id: string }>("select id from products where sku = 'S-1234'")
  const id = rows[0]?.id ?? ''
  // On its way this one document gets an id that the engine does not take.
  const spoilt = async (input: string | URL | Request, init?: RequestInit) => {
    const body = typeof init?.body === 'string' ? init.body.replace(`{"id":"${id}",`, '{"id":"not an id",') : init?.body
    const answer = await fetch(input, { ...init, ...(body !== undefined && { body }) })
    return answer.json() as Promise<unknown>
  }
  const { meiliMasterKey } = await servers()
  const engine = new Meilisearch({ host: config.MEILI_URL, apiKey: meiliMasterKey, httpClient: spoilt as never })
  await rebuild(db, engine, target)
  const parked = await db.selectFrom('parked_documents').select(['product_id', 'reason']).execute()
  t.match(parked, [{ product_id: id, reason: /identifier/ }])
  t.same((await verify(service.target)).missing, [id], 'only that one')
})

t.test('a change waits neither for a rebuild in its midst nor, when its indexer dies, for what that had sent', async (t) => {
  const service = await withProducts(t, 6_000)
  const { engine, pool, target, config, roles } = service
  const { meiliMasterKey } = await servers()
  const start = () =>
    startProgram(t, ['scripts/indexer.ts'], {
      INDEXER_DATABASE_URL: roles.indexer,
      MEILI_URL: config.MEILI_URL,
      SEARCH_INDEX: config.SEARCH_INDEX,
      MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
    })
  await service.db.updateTable('search_engines').set({ rebuild_asked_at: new Date() }).execute()
  const isMuchToDo = () =>
    eventually(
      () => unfinished(service, nextIndexName(target.indexName)),
      (tasks) => tasks > 1,
    )
  const becomes = async (name: string, withinMs: number) => {
    const { rows } = await pool.query<{ id: string }>("update products set name = $1 where sku = 'S-1' returning id", [name])
    const changedAt = Date.now()
    const found = await eventually(
      () =>
        engine
          .index(target.indexName)
          .getDocument<{ name: string }>(rows[0]?.id ?? '')
          .then(
            (document) => document.name,
            () => '',
          ),
      (found) => found === name,
    )
    t.equal(found, name)
    t.ok(Date.now() - changedAt < withinMs, `after ${Date.now() - changedAt} ms`)
  }
  const first = start()
  t.ok((await isMuchToDo()) > 1)
  await becomes('Cambiada', 5_000)
  first.child.kill('SIGKILL')
  start()
  await becomes('Cambiada otra vez', 10_000)
  t.equal(
    await eventually(
      async () => (await service.db.selectFrom('search_engines').select('rebuild_asked_at').executeTakeFirstOrThrow()).rebuild_asked_at,
      (asked) => asked === null,
      60_000,
    ),
    null,
    'the other one rebuilds it',
  )
  const { missing, stale, extra } = await verify(service.target)
  t.same({ missing, stale, extra }, { missing: [], stale: [], extra: [] })
})
