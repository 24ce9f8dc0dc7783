// Several indexers for one engine, one for each of several, and what becomes of one that lost its place.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { Meilisearch } from 'meilisearch'
import t, { type Test } from 'tap'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { syncBatch } from '../../src/indexing/change-sync.ts'
import {
  ensureEngineKeys,
  indexerKey,
  replaceIndexerKeys,
  searchKey,
} from '../../src/indexing/engine-keys.ts'
import { acquireLease, LeaseLost, releaseLease } from '../../src/indexing/indexer-lease.ts'
import { openEngine } from '../../src/indexing/meilisearch-client.ts'
import { registerEngine } from '../../src/indexing/register-engine.ts'
import {
  eventually,
  type RunningProgram,
  servers,
  startProgram,
  type TestService,
  testService,
} from '../support/test-service.ts'

async function startIndexer(
  t: Test,
  { config, roles }: TestService,
  env: Record<string, string> = {},
): Promise<RunningProgram> {
  const { meiliMasterKey } = await servers()
  const { MEILI_URL, SEARCH_INDEX } = config
  return startProgram(t, ['scripts/indexer.ts'], {
    INDEXER_DATABASE_URL: roles.indexer,
    MEILI_URL,
    SEARCH_INDEX,
    MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
    ...env,
  })
}

const says = (program: RunningProgram, text: string) =>
  eventually(
    async () => program.output(),
    (output) => output.includes(text),
  )

/** The names in the index, read past the API. */
async function indexed({ engine, config }: TestService): Promise<string[]> {
  const { results } = await engine
    .index(config.SEARCH_INDEX)
    .getDocuments<{ name: string }>({ fields: ['name'], limit: 100 })
  return results.map(({ name }) => name).sort()
}

const becomes = async (t: Test, service: TestService, wanted: string[]) =>
  t.same(
    await eventually(
      () => indexed(service),
      (names) => JSON.stringify(names) === JSON.stringify(wanted),
    ),
    wanted,
  )

t.test('another indexer takes over when the one at work is killed', async (t) => {
  const service = await testService(t)
  const first = await startIndexer(t, service)
  t.match(await says(first, 'Following changes.'), 'Following changes.')
  const second = await startIndexer(t, service)
  t.match(await says(second, 'Standing by.'), 'Standing by.')
  first.child.kill('SIGKILL')
  const killedAt = Date.now()
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
  await becomes(t, service, ['Alicate'])
  t.ok(Date.now() - killedAt < 10_000, 'within 10 s')
  second.child.kill('SIGTERM')
  t.equal(await second.exit, 0)
  const third = await startIndexer(t, service)
  t.notMatch(
    await says(third, 'Following changes.'),
    'Standing by',
    'one that is stopped gives its place back at once',
  )
})

t.test(
  'an indexer that was paused between reading and writing leaves nothing old behind',
  async (t) => {
    const service = await testService(t)
    await service.db.insertInto('products').values({ sku: 'A-1', name: 'Antes' }).execute()
    const first = await startIndexer(t, service)
    await becomes(t, service, ['Antes'])
    const second = await startIndexer(t, service)
    await says(second, 'Standing by.')

    // It sees the change as pending, and then waits for this table while it reads the product.
    const lock = await service.pool.connect()
    await lock.query('begin')
    await lock.query('lock table product_popularity in access exclusive mode')
    await service.pool.query("update products set name = 'Viejo' where sku = 'A-1'")
    const isWaiting = await eventually(
      async () =>
        (
          await service.pool.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from \"products\"%'",
          )
        ).rowCount,
      (count) => count === 1,
    )
    t.equal(isWaiting, 1)
    first.child.kill('SIGSTOP')
    await lock.query('commit') // now its answer waits for it, with the name that is about to be old
    lock.release()

    await service.pool.query("update products set name = 'Nuevo' where sku = 'A-1'")
    await becomes(t, service, ['Nuevo'])
    first.child.kill('SIGCONT')
    t.match(await says(first, 'taken over'), /taken over/)
    const { count } = await eventually(
      () =>
        service.db
          .selectFrom('product_changes')
          .select(sql<number>`count(*)::int`.as('count'))
          .executeTakeFirstOrThrow(),
      ({ count }) => count === 0,
    )
    t.equal(count, 0)
    t.same(await indexed(service), ['Nuevo'])
  },
)

t.test('what one that lost its place had sent all the same is queued again', async (t) => {
  const service = await testService(t)
  const { db, target, config } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'Viejo' }).execute()
  // Its requests are on their way for as long as the gate is shut, with a key that nobody takes away.
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const { meiliMasterKey } = await servers()
  const late = async (input: string | URL | Request, init?: RequestInit) => {
    await gate
    return (await fetch(input, init)).json() as Promise<unknown>
  }
  const slow = new Meilisearch({
    host: config.MEILI_URL,
    apiKey: meiliMasterKey,
    httpClient: late as never,
  })
  const lease = await acquireLease(db, 'main', 'the slow one')
  t.ok(lease)
  const outcome = syncBatch({ ...target, engine: slow, lease: lease ?? undefined }).catch(
    (error: unknown) => error,
  )
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(await acquireLease(db, 'main', 'another'), null, 'held')
  await sql`update indexer_leases set held_until = now() - interval '1 s'`.execute(db)
  const next = await acquireLease(db, 'main', 'another')
  t.match(next, { fencingToken: '2', wasReleased: false })
  await service.pool.query("update products set name = 'Nuevo' where sku = 'A-1'")
  while ((await syncBatch({ ...target, lease: next ?? undefined })) > 0);
  t.same(await indexed(service), ['Nuevo'])
  open()
  t.ok((await outcome) instanceof LeaseLost)
  t.same(await indexed(service), ['Viejo'], 'it came late')
  while ((await syncBatch({ ...target, lease: next ?? undefined })) > 0);
  t.same(await indexed(service), ['Nuevo'])
  if (next) await releaseLease(db, next)
  t.match(await acquireLease(db, 'main', 'a third'), { fencingToken: '3', wasReleased: true })
})

t.test(
  'keys do one job each, are known without a manual step, and are taken away with the place',
  async (t) => {
    const { engine, config, db } = await testService(t)
    const { meiliMasterKey } = await servers()
    const indexName = config.SEARCH_INDEX
    const withKey = (key: string) => openEngine(config.MEILI_URL, key)
    const status = (work: Promise<unknown>) =>
      work.then(
        () => 200,
        (error: { response?: { status: number } }) => error.response?.status,
      )
    await ensureEngineKeys(engine)
    const searching = withKey(searchKey(meiliMasterKey))
    t.equal(await status(searching.index(indexName).search('')), 200)
    t.equal(await status(searching.index(indexName).addDocuments([{ id: '1' }])), 403)
    t.equal(await status(searching.index(indexName).getDocuments()), 403)
    t.equal(await status(searching.getKeys()), 403)

    const keysOf = (fence: string) =>
      replaceIndexerKeys(engine, { engineName: 'main', indexName, fencingToken: fence })
    const first = await keysOf('1')
    const working = withKey(first.documents)
    t.equal(
      await status(
        working
          .index(indexName)
          .addDocuments([{ id: '1' }])
          .waitTask(),
      ),
      200,
    )
    t.equal(await status(working.index(indexName).search('')), 403, 'not even search')
    t.equal(await status(working.index('another').addDocuments([{ id: '1' }])), 403)
    t.equal(await status(working.getKeys()), 403)
    const absent = await working
      .index(`${indexName}_next`)
      .addDocuments([{ id: '1' }])
      .waitTask()
    t.equal(
      absent.error?.code,
      'index_not_found',
      'a write to an emptied engine makes no index with settings of its own',
    )
    const second = await keysOf('2')
    t.equal(await status(working.index(indexName).addDocuments([{ id: '1' }])), 403, 'taken away')
    t.equal(await status(withKey(second.documents).index(indexName).getStats()), 200)
    await registerEngine(db, 'main')
  },
)

t.test(
  'each of two engines has its own indexer, and both hold everything; one without keys says what to run, and goes on by itself',
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tqs-engine-'))
    await chmod(directory, 0o755)
    const masterKey = 'the master key of the second'
    const other = await startMeilisearch({ directory, masterKey })
    t.teardown(async () => {
      await other.stop()
      await rm(directory, { recursive: true, force: true })
    })
    const service = await testService(t)
    await service.db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
    await startIndexer(t, service)
    const second = await startIndexer(t, service, {
      MEILI_URL: other.url,
      MEILI_INDEXER_KEY: indexerKey(masterKey),
      SEARCH_ENGINE: 'second',
    })
    const missing =
      /does not know this key\. scripts\/migrate\.ts .+ \(`docker compose run --rm migrate`\)\. .+\. Trying again\./
    t.match(
      await eventually(
        async () => second.output(),
        (output) => missing.test(output),
      ),
      missing,
    )
    await ensureEngineKeys(openEngine(other.url, masterKey))
    t.match(await says(second, 'Following changes.'), 'Following changes.')
    const there = { ...service, engine: openEngine(other.url, masterKey) }
    await becomes(t, there, ['Alicate'])
    await becomes(t, service, ['Alicate'])
    await service.db.insertInto('products').values({ sku: 'A-2', name: 'Broca' }).execute()
    await service.db.deleteFrom('products').where('sku', '=', 'A-1').execute()
    await becomes(t, there, ['Broca'])
    await becomes(t, service, ['Broca'])
    const engines = await service.db
      .selectFrom('search_engines')
      .select('name')
      .orderBy('name')
      .execute()
    t.same(engines, [{ name: 'main' }, { name: 'second' }])
  },
)
