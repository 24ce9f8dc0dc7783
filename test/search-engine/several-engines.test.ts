// Several search engines behind one API: searches are distributed over the healthy engines, and
// `indexedAt` is that of the engine that answered.
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.ts'
import { deriveSearchKey, ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { type IndexAddress, registerIndex } from '../../src/indexing/registration.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import {
  engineTimeout,
  openSearchEngine,
  type SearchEngine,
} from '../../src/search-engine/client.ts'
import { company } from '../support/database/company.ts'
import { rebuildIndex, syncIndex } from '../support/database/leased-target.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { startOwnEngine } from '../support/servers/own-engine.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

// No engine is slow here, only unreachable.
replaceUntilEnd(t, engineTimeout, { ms: 10_000 })

type CountingEngine = SearchEngine & { searchCount: number }

const outdatedByMs = 60_000
const recoveryMs = 5_000

function countSearches(engine: SearchEngine): CountingEngine {
  const counting = {
    ...engine,
    searchCount: 0,
    search: (...parameters: Parameters<SearchEngine['search']>) => {
      // Probes have no text.
      if (parameters[0].some(({ q }) => q !== '')) counting.searchCount += 1
      return engine.search(...parameters)
    },
  }
  return counting
}

/** Starts a second engine and an indexer target for it. The index is empty. */
async function startSecondEngine(t: Test, service: TestService) {
  const { meiliMasterKey } = await servers()
  const { url, client } = await startOwnEngine(t, meiliMasterKey)
  await ensurePermanentKeys(client)
  const target: IndexAddress = {
    db: service.db,
    client,
    indexName: service.config.SEARCH_INDEX,
    registrationName: 'second',
  }
  await registerIndex(service.db, target.registrationName)
  await rebuildIndex(target)
  return { url, target }
}

async function openCountingEngine(t: Test, url: string) {
  const proxy = await startFaultyProxy(t, url)
  const { meiliMasterKey } = await servers()
  const engine = countSearches(openSearchEngine(proxy.url, deriveSearchKey(meiliMasterKey)))
  t.teardown(() => engine.close())
  return { proxy, engine }
}

t.test('two engines', async (t) => {
  const service = await testService(t)
  const { db, redis, config } = service
  const { url, target: secondTarget } = await startSecondEngine(t, service)
  const first = await openCountingEngine(t, config.MEILI_URL)
  const second = await openCountingEngine(t, url)
  const engines = [first, second] as const

  const startApp = async () => {
    const started = await buildApp({
      config: { ...config, SEARCH_CACHE_MB: 0 },
      company,
      indexName: config.SEARCH_INDEX,
      connections: {
        db,
        dbWithPreparedStatements: db,
        searchPool: service.pool,
        redis,
        searchEngines: [
          { registrationName: config.SEARCH_ENGINE, engine: first.engine },
          { registrationName: 'second', engine: second.engine },
        ],
      },
      logger: { level: 'silent' },
      traces: null,
    })
    t.teardown(() => started.close())
    return started
  }
  let app = await startApp()
  const search = async () => (await app.inject('/api/search?q=alicate')).json<SearchResponse>()
  const searchTimes = async (count: number) => {
    const before = engines.map(({ engine }) => engine.searchCount)
    const responses: SearchResponse[] = []
    for (let n = 0; n < count; n += 1) responses.push(await search())
    const [firstCount = 0, secondCount = 0] = engines.map(
      ({ engine }, index) => engine.searchCount - (before[index] ?? 0),
    )
    return { responses, searchCounts: [firstCount, secondCount] as const }
  }
  const syncSecond = async () => {
    await syncIndex(secondTarget)
  }

  t.test('searches alternate between the engines', async (t) => {
    await db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
    await service.sync()
    await syncSecond()
    await eventually(
      search,
      ({ hits, meta }) => hits.length === 1 && meta.source === 'index' && meta.indexedAt !== null,
    )
    const { searchCounts } = await searchTimes(10)
    t.ok(searchCounts[0] >= 5 && searchCounts[1] >= 5, searchCounts.join(' and '))
  })

  t.test('a response of an older index has an older indexedAt', async (t) => {
    await db.updateTable('products').set({ name: 'Alicate nuevo' }).execute()
    const { changedAt } = await db
      .selectNoFrom((eb) => eb.fn<Date>('now').as('changedAt'))
      .executeTakeFirstOrThrow()
    await service.sync()
    const { responses } = await searchTimes(10)
    const names = new Set(responses.map(({ hits }) => hits[0]?.name))
    t.same(names, new Set(['Alicate', 'Alicate nuevo']))
    for (const { hits, meta } of responses)
      t.ok(hits[0]?.name === 'Alicate nuevo' || new Date(meta.indexedAt ?? '') <= changedAt)
  })

  t.test('an engine whose index is a minute older gets no searches', async (t) => {
    await db
      .updateTable('search_indexes')
      .set({ indexed_at: new Date(Date.now() - outdatedByMs) })
      .where('registration_name', '=', 'second')
      .execute()
    app = await startApp()
    // The new process leaves out the second engine once it has read the state of both.
    await eventually(
      search,
      ({ meta }) => Date.parse(meta.indexedAt ?? '') > Date.now() - outdatedByMs / 2,
    )
    t.equal((await searchTimes(6)).searchCounts[1], 0)
  })

  for (const failing of [0, 1] as const) {
    t.test(`engine ${failing + 1} gets no searches while it is unreachable`, async (t) => {
      // Both indexes are as new, or the older one would get no searches.
      await service.sync()
      await syncSecond()
      engines[failing].proxy.refuseConnections()
      // The first search that reaches the engine opens its circuit breaker.
      const { responses: firstResponses } = await eventually(
        () => searchTimes(2),
        (first) => first.searchCounts[failing] > 0,
      )
      const { responses, searchCounts } = await searchTimes(6)
      const sources = new Set([...firstResponses, ...responses].map(({ meta }) => meta.source))
      t.same(sources, new Set(['index']), 'the other engine answers at once')
      t.equal(searchCounts[failing], 0)
      engines[failing].proxy.restore()
      const restoredAt = Date.now()
      await eventually(
        () => searchTimes(2),
        (next) => next.searchCounts[failing] > 0,
      )
      t.ok(Date.now() - restoredAt < recoveryMs, 'it gets searches again after it has recovered')
    })
  }

  t.test('PostgreSQL answers while both engines are unreachable', async (t) => {
    // Only the second index is up to date.
    await db.updateTable('products').set({ name: 'Alicate de corte' }).execute()
    await syncSecond()
    await db
      .updateTable('search_indexes')
      .set({ indexed_at: new Date(Date.now() - outdatedByMs) })
      .where('registration_name', '=', config.SEARCH_ENGINE)
      .execute()
    for (const { proxy } of engines) proxy.refuseConnections()
    app = await startApp()
    // The new process has read the states of the indexes if the instant is known.
    const { meta } = await eventually(
      search,
      (response) => response.meta.source === 'database' && response.meta.indexedAt !== null,
    )
    t.equal(meta.source, 'database')
    const ageMs = Date.now() - Date.parse(meta.indexedAt ?? '')
    t.ok(ageMs < outdatedByMs / 2, 'indexedAt is that of the newest index')
  })
})
