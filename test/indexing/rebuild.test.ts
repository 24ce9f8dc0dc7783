// How a new index is filled: as much as may wait is put into the engine's queue, and nothing else has to wait for it.
import { sql } from 'kysely'
import { Meilisearch } from 'meilisearch'
import t, { type Test } from 'tap'
import { indexerKey, nextIndexName } from '../../src/indexing/engine-keys.ts'
import { verifyIndex } from '../../src/indexing/index-verification.ts'
import { acquireLease, type Lease } from '../../src/indexing/indexer-lease.ts'
import { queueProducts } from '../../src/indexing/outbox.ts'
import { BulkUpload } from '../../src/indexing/rebuild/bulk-upload.ts'
import { rebuild } from '../../src/indexing/rebuild/rebuild.ts'
import { deleteRebuildRecord } from '../../src/indexing/rebuild/rebuild-record.ts'
import {
  eventually,
  servers,
  startProgram,
  type TestService,
  testService,
} from '../support/test-service.ts'

/** Products with long descriptions, which keep the engine busy for a while, and nothing pending. */
async function withProducts(
  t: Test,
  count: number,
  options?: Parameters<typeof testService>[1],
): Promise<TestService> {
  const service = await testService(t, options)
  await sql`
    insert into products (sku, name, description)
    select 'S-' || n, 'Pieza ' || n, (select string_agg(substr(md5((n * 1000 + k)::text), 1, 6), ' ') from generate_series(1, 15) k)
    from generate_series(1, ${sql.lit(count)}) n
  `.execute(service.db)
  await sql`delete from product_changes`.execute(service.db)
  return service
}

async function pendingForNext({ db }: TestService): Promise<number> {
  return (
    await db.selectFrom('product_changes').select('id').where('engine', '=', 'main~next').execute()
  ).length
}

async function unfinished({ engine }: TestService, indexName: string): Promise<number> {
  return (
    await engine.tasks.getTasks({ indexUids: [indexName], statuses: ['enqueued', 'processing'] })
  ).total
}

/** The filling of an index beside the live one, at the moment at which the engine has much of it to do. */
async function fillingMuch(service: TestService, t: Test, lease?: Lease) {
  const { target, engine } = service
  const indexName = nextIndexName(target.indexName)
  await engine.createIndex(indexName, { primaryKey: 'id' }).waitTask()
  t.teardown(() => engine.deleteIndexIfExists(indexName))
  const next = { ...target, indexName, engineName: 'main~next', lease }
  const filling = new BulkUpload(next, {
    taskClient: engine,
    throwIfStopped: () => undefined,
    onProgress: () => undefined,
  })
  const tasks = await eventually(
    () => unfinished(service, indexName),
    (tasks) => tasks > 1,
  )
  t.ok(tasks > 1, `${tasks} uploads wait`)
  const documents = async () => (await engine.index(indexName).getStats()).numberOfDocuments
  return { filling, indexName, documents }
}

t.test(
  'what the engine has to do for the new index is taken back for a change, and sent again',
  async (t) => {
    const service = await withProducts(t, 6_000)
    const { filling, indexName, documents } = await fillingMuch(service, t)
    const waiting = await service.engine.tasks.getTasks({
      indexUids: [indexName],
      statuses: ['enqueued', 'processing'],
    })
    await filling.yieldToChange()
    // It may have been sent again by now.
    const uids = waiting.results.map(({ uid }) => uid)
    t.equal(
      (await service.engine.tasks.getTasks({ uids, statuses: ['enqueued', 'processing'] })).total,
      0,
      'the engine is free',
    )
    t.ok((await documents()) < 6_000)
    t.equal(await filling.finished, 6_000)
    t.equal(await documents(), 6_000)
  },
)

t.test('a filling that is given up leaves nothing in the queue of the engine', async (t) => {
  const service = await withProducts(t, 6_000)
  const { filling, indexName } = await fillingMuch(service, t)
  filling.stop(new Error('enough'))
  await t.rejects(filling.finished, /enough/)
  t.equal(await unfinished(service, indexName), 0)
})

t.test(
  'an indexer that lost its place while it filled an index queues what it had sent',
  async (t) => {
    const service = await withProducts(t, 6_000)
    const { db } = service
    const lease = await acquireLease(db, 'main', 'the first')
    const { filling } = await fillingMuch(service, t, lease ?? undefined)
    await sql`update indexer_leases set held_until = now() - interval '1 s'`.execute(db)
    t.ok(await acquireLease(db, 'main', 'another'))
    filling.stop(new Error('lost'))
    await t.rejects(filling.finished, /lost/)
    const queued = await db.selectFrom('product_changes').select(['engine', 'product_id']).execute()
    t.ok(queued.length >= 3_000, `${queued.length} products`)
    await queueProducts(db, 'main~next', ['1'])
    await t.rejects(
      deleteRebuildRecord({ ...service.target, lease: lease ?? undefined }),
      /another indexer/i,
    )
    t.equal(await pendingForNext(service), 1, 'what may be the other’s is left to it')
    t.ok(queued.every(({ engine, product_id }) => engine === 'main' && product_id !== null))
  },
)

/** The engine, with every text that is sent to it rewritten on its way. */
async function engineBehind(
  { config }: TestService,
  rewrite: (path: string, body: string) => Promise<string>,
): Promise<Meilisearch> {
  const httpClient = async (input: string | URL | Request, init?: RequestInit) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const body = typeof init?.body === 'string' ? await rewrite(pathname, init.body) : init?.body
    const answer = await fetch(input, { ...init, ...(body !== undefined && { body }) })
    return answer.json() as Promise<unknown>
  }
  const { meiliMasterKey } = await servers()
  return new Meilisearch({
    host: config.MEILI_URL,
    apiKey: meiliMasterKey,
    httpClient: httpClient as never,
  })
}

t.test(
  'a document that the engine refuses only when it comes to it is parked, and the others of its upload are there',
  async (t) => {
    const service = await withProducts(t, 300)
    const { target, db } = service
    const { rows } = await service.pool.query<{ id: string }>(
      "select id from products where sku = 'S-123'",
    )
    const id = rows[0]?.id ?? ''
    // On its way this one document gets an id that the engine does not take.
    const engine = await engineBehind(service, async (_path, body) =>
      body.replace(`{"id":"${id}",`, '{"id":"not an id",'),
    )
    await rebuild(db, engine, target)
    const parked = await db
      .selectFrom('parked_documents')
      .select(['product_id', 'reason'])
      .execute()
    t.match(parked, [{ product_id: id, reason: /identifier/ }])
    t.same((await verifyIndex(service.target)).missing, [id], 'only that one')
  },
)

t.test(
  'what changed while the new index was filled is caught up with in parts, each change once and none lost',
  async (t) => {
    const service = await withProducts(t, 30)
    const { db, pool, target } = service
    await service.sync()
    // Known to PostgreSQL before the build begins, but what fills the new index holds none of it.
    await pool.query("update products set name = 'Cambiada ' || sku where sku like 'S-1%'")
    const gone = (
      await pool.query<{ id: string }>(
        "delete from products where sku in ('S-2', 'S-20') returning id",
      )
    ).rows.map(({ id }) => id)
    const caughtUp: string[][] = []
    let late = false
    const engine = await engineBehind(service, async (path, body) => {
      if (!path.startsWith(`/indexes/${nextIndexName(target.indexName)}/documents`)) return body
      if (path.endsWith('/delete-batch')) {
        caughtUp.push(JSON.parse(body) as string[])
        return body
      }
      const lines = body.trim().split('\n')
      if (lines.length > part)
        return (
          body.replaceAll('"name":"', '"name":"Vieja ') +
          gone.map((id) => `{"id":"${id}","name":"Vieja"}\n`).join('')
        )
      caughtUp.push(lines.map((line) => (JSON.parse(line) as { id: string }).id))
      if (!late) await pool.query("update products set name = 'Tardía' where sku = 'S-30'")
      late = true
      return body
    })
    const part = 4
    await rebuild(db, engine, { ...target, catchUpBatch: part })

    const { results } = await service.engine
      .index(target.indexName)
      .getDocuments<{ id: string; sku: string; name: string }>({ limit: 100 })
    const changed = results.filter(({ name }) => !name.startsWith('Vieja'))
    t.equal(results.length, 28)
    t.equal(changed.length, 12)
    t.ok(changed.every(({ sku, name }) => name === (sku === 'S-30' ? 'Tardía' : `Cambiada ${sku}`)))
    t.same(
      caughtUp.flat().sort(),
      [...changed.map(({ id }) => id), ...gone].sort(),
      'each of them once',
    )
    t.ok(caughtUp.length > 3 && caughtUp.every((ids) => ids.length <= part))
    t.equal((await db.selectFrom('product_changes').select('id').execute()).length, 0)
  },
)

async function startIndexer(t: Test, { config, roles }: TestService) {
  const { meiliMasterKey } = await servers()
  return startProgram(t, ['scripts/indexer.ts'], {
    INDEXER_DATABASE_URL: roles.indexer,
    MEILI_URL: config.MEILI_URL,
    SEARCH_INDEX: config.SEARCH_INDEX,
    MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
  })
}

/** Changes a product and answers after how many milliseconds the live index has it. */
async function msUntilIndexed(
  { engine, pool, target }: TestService,
  name: string,
): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    "update products set name = $1 where sku = 'S-1' returning id",
    [name],
  )
  const changedAt = Date.now()
  const read = async () => {
    const document = await engine
      .index(target.indexName)
      .getDocument<{ name: string }>(rows[0]?.id ?? '')
      .catch(() => null)
    return document?.name
  }
  const found = await eventually(read, (found) => found === name, 40_000)
  if (found !== name) throw new Error(`${name} is not there, but ${found}`)
  return Date.now() - changedAt
}

t.test('a change does not wait for a rebuild in its midst', async (t) => {
  const service = await withProducts(t, 6_000)
  await service.db.updateTable('search_engines').set({ rebuild_asked_at: new Date() }).execute()
  await startIndexer(t, service)
  const tasks = await eventually(
    () => unfinished(service, nextIndexName(service.target.indexName)),
    (tasks) => tasks > 1,
  )
  t.ok(tasks > 1, 'the engine has much to do')
  const ms = await msUntilIndexed(service, 'Cambiada')
  t.ok(ms < 5_000, `after ${ms} ms`)
  const asked = async () =>
    (
      await service.db
        .selectFrom('search_engines')
        .select('rebuild_asked_at')
        .executeTakeFirstOrThrow()
    ).rebuild_asked_at
  t.equal(await eventually(asked, (at) => at === null, 60_000), null)
  const { missing, stale, extra } = await verifyIndex(service.target)
  t.same({ missing, stale, extra }, { missing: [], stale: [], extra: [] })
})

t.test(
  'an indexer that is stopped in the midst of a rebuild leaves nothing to do, and its place to the next',
  async (t) => {
    const service = await withProducts(t, 6_000)
    await service.pool.query("update products set name = 'Cambiada' where sku = 'S-1'")
    await service.db.updateTable('search_engines').set({ rebuild_asked_at: new Date() }).execute()
    const indexer = await startIndexer(t, service)
    const next = nextIndexName(service.target.indexName)
    const pending = await eventually(
      () => pendingForNext(service),
      (rows) => rows > 0,
    )
    t.equal(pending, 1, 'the change is to be put into the new index, too')
    indexer.child.kill('SIGTERM')
    t.equal(await indexer.exit, 0)
    t.equal(await unfinished(service, next), 0)
    t.equal(await pendingForNext(service), 0)
    t.same(await service.db.selectFrom('indexer_leases').select('holder').execute(), [
      { holder: null },
    ])
  },
)

t.test('what a truncation took away is not found while the index is built anew', async (t) => {
  // An answer may be remembered for as long as it takes to notice a change.
  const service = await withProducts(t, 6_000, { config: { SEARCH_MEMORY_MB: 0 } })
  await service.pool.query("update products set name = 'Zanahoria' where sku = 'S-1'")
  await rebuild(service.db, service.engine, service.target)
  const found = async () =>
    (await service.app.inject('/api/search?q=zanahoria')).json<{ hits: unknown[] }>().hits.length
  t.equal(await found(), 1)
  await startIndexer(t, service)
  await service.pool.query(`
    begin; create temp table kept as select * from products where sku <> 'S-1'; truncate products cascade;
    insert into products (sku, name, description) select sku, name, description from kept; commit`)
  const tasks = await eventually(
    () => unfinished(service, nextIndexName(service.target.indexName)),
    (tasks) => tasks > 0,
    40_000,
  )
  t.ok(tasks > 0, 'it is being built')
  t.equal(await found(), 0)
})

t.test(
  'an indexer that takes over does not wait for what the engine has still to do for one that died',
  async (t) => {
    const service = await withProducts(t, 1)
    const { engine, target } = service
    const indexName = nextIndexName(target.indexName)
    await service.sync()
    await engine.createIndex(indexName, { primaryKey: 'id' }).waitTask()
    const word = (n: number) => ((n * 2_654_435_761) % 2_176_782_336).toString(36)
    await queueProducts(service.db, 'main~next', ['1', '2'])
    const text = (id: number) =>
      Array.from({ length: 2_000 }, (_, n) => word(id * 2_000 + n)).join(' ')
    for (let id = 0; id < 2_000; id += 1_000)
      await engine
        .index(indexName)
        .addDocuments(Array.from({ length: 1_000 }, (_, n) => ({ id: id + n, text: text(id + n) })))
    await startIndexer(t, service)
    const ms = await msUntilIndexed(service, 'Cambiada')
    t.ok(ms < 10_000, `after ${ms} ms`)
    t.equal(await pendingForNext(service), 0, 'nor is anything left of what it was building')
  },
)
