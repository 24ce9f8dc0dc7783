// Several search engines behind one API: the healthy ones are asked in turn, and each answer is as fresh as it says.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { buildApp } from '../../src/app.ts'
import { type SyncTarget, syncBatch } from '../../src/indexing/change-sync.ts'
import { ensureEngineKeys, searchKey } from '../../src/indexing/engine-keys.ts'
import { openEngine } from '../../src/indexing/meilisearch-client.ts'
import { rebuild } from '../../src/indexing/rebuild/rebuild.ts'
import { registerEngine } from '../../src/indexing/register-engine.ts'
import type { SearchEngine } from '../../src/search-engine/engine-client.ts'
import { openSearchEngine } from '../../src/search-engine/engine-client.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { company, eventually, servers, testService } from '../support/test-service.ts'

type Answer = { hits: { name: string }[]; meta: { source: string; indexedAt: string } }

/** The engine, and how many searches it was sent. */
function counted(engine: SearchEngine): SearchEngine & { searches: number } {
  const own = {
    ...engine,
    searches: 0,
    search: (...given: Parameters<SearchEngine['search']>) => {
      own.searches += 1
      return engine.search(...given)
    },
  }
  return own
}

t.test('several engines are asked in turn, those that are away or behind left out', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-engines-'))
  await chmod(directory, 0o755)
  const masterKey = (await servers()).meiliMasterKey
  const beside = await startMeilisearch({ directory, masterKey })
  t.teardown(async () => {
    await beside.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const service = await testService(t)
  const { db, redis, config } = service
  const there = openEngine(beside.url, masterKey)
  await ensureEngineKeys(there)
  const second: SyncTarget = {
    db,
    engine: there,
    indexName: config.SEARCH_INDEX,
    engineName: 'second',
  }
  await registerEngine(db, 'second')
  await rebuild(db, there, second)

  const faultyProxies = [
    await startFaultyProxy(t, config.MEILI_URL),
    await startFaultyProxy(t, beside.url),
  ] as const
  const [one, two] = faultyProxies.map((faultyProxy) =>
    counted(openSearchEngine(faultyProxy.url, searchKey(masterKey))),
  ) as [ReturnType<typeof counted>, ReturnType<typeof counted>]
  const start = async () => {
    const connections = { db, redis, engine: one, moreEngines: [{ name: 'second', engine: two }] }
    const started = await buildApp({
      config: { ...config, SEARCH_MEMORY_MB: 0 },
      company,
      connections,
      logger: { level: 'silent' },
    })
    t.teardown(() => started.close())
    return started
  }
  t.teardown(() => {
    one.close()
    two.close()
  })
  let app = await start()
  const search = async () => (await app.inject('/api/search?q=alicate')).json<Answer>()
  const searched = async (times: number) => {
    const before = [one.searches, two.searches] as const
    const answers: Answer[] = []
    for (let n = 0; n < times; n += 1) answers.push(await search())
    return { answers, asked: [one.searches - before[0], two.searches - before[1]] as const }
  }
  await db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
  await service.sync()
  while ((await syncBatch(second)) > 0);
  await eventually(
    search,
    ({ hits, meta }) => hits.length === 1 && meta.source === 'index' && meta.indexedAt !== null,
  )

  const both = await searched(10)
  t.ok(both.asked[0] >= 5 && both.asked[1] >= 5, `asked in turn: ${both.asked.join(' and ')}`)

  // The first one's index moves on, the other's does not.
  await db.updateTable('products').set({ name: 'Alicate nuevo' }).execute()
  const { changedAt } = await db
    .selectNoFrom((eb) => eb.fn<Date>('now').as('changedAt'))
    .executeTakeFirstOrThrow()
  await service.sync()
  const apart = await searched(10)
  const names = new Set(apart.answers.map(({ hits }) => hits[0]?.name))
  t.same(names, new Set(['Alicate', 'Alicate nuevo']))
  for (const { hits, meta } of apart.answers)
    t.ok(
      hits[0]?.name === 'Alicate nuevo' || new Date(meta.indexedAt) <= changedAt,
      'an old answer says how old it is',
    )
  await db
    .updateTable('search_engines')
    .set({ indexed_at: new Date(Date.now() - 60_000) })
    .where('name', '=', 'second')
    .execute()
  app = await start()
  // Which of them is behind is known as soon as it is known of both how old they are.
  await eventually(search, ({ meta }) => Date.parse(meta.indexedAt) > Date.now() - 30_000)
  t.equal((await searched(6)).asked[1], 0, 'one that is a minute behind is left alone')

  while ((await syncBatch(second)) > 0);
  for (const away of [0, 1] as const) {
    faultyProxies[away].refuseConnections()
    await searched(2)
    const rest = await searched(6)
    t.same(
      new Set(rest.answers.map(({ meta }) => meta.source)),
      new Set(['index']),
      'with one away the other answers',
    )
    t.equal(rest.asked[away], 0)
    faultyProxies[away].restore()
    const mended = Date.now()
    await eventually(
      () => searched(2),
      ({ asked }) => asked[away] > 0,
    )
    t.ok(Date.now() - mended < 5_000, 'and is asked again when it is back')
  }
  for (const faultyProxy of faultyProxies) faultyProxy.refuseConnections()
  t.equal((await searched(3)).answers.at(-1)?.meta.source, 'database')
})
