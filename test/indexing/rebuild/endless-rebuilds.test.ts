// What prevents endless rebuilds: extra settings of the engine do not count as differences, and a
// rebuild that does not help is not repeated at once.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { indexCheckInterval } from '../../../src/indexing/indexer.ts'
import { registerIndex, requestRebuild } from '../../../src/indexing/registration.ts'
import { indexSettings, listChangedSettings } from '../../../src/indexing/settings.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { testService } from '../../support/service/test-service.ts'
import { startIndexer, waitForOutput } from '../run-indexer.ts'

t.test('ignores extra settings of the engine, and the order of sets', async (t) => {
  const { typoTolerance, displayedAttributes, rankingRules, filterableAttributes } = indexSettings
  const [filter] = filterableAttributes
  const listChanged = (changed: object) => listChangedSettings({ ...indexSettings, ...changed })
  t.same(listChanged({}), [])
  t.same(listChanged({ newSetting: 1, typoTolerance: { ...typoTolerance, newDefault: null } }), [])
  t.same(listChanged({ displayedAttributes: displayedAttributes.toReversed() }), [])
  const reversed = { ...filter, attributePatterns: filter?.attributePatterns.toReversed() }
  t.same(listChanged({ filterableAttributes: [reversed] }), [])
  t.same(listChanged({ displayedAttributes: displayedAttributes.slice(1) }), [
    'displayedAttributes',
  ])
  t.same(listChanged({ displayedAttributes: [...displayedAttributes, 'more'] }), [
    'displayedAttributes',
  ])
  t.same(listChanged({ rankingRules: rankingRules.toReversed(), facetSearch: true }), [
    'facetSearch',
    'rankingRules',
  ])
  t.same(listChanged({ typoTolerance: { ...typoTolerance, minWordSizeForTypos: {} } }), [
    'typoTolerance',
  ])
  t.same(listChangedSettings({}), Object.keys(indexSettings))
})

t.test('timestamps a rebuild request with the database clock', async (t) => {
  const { db } = await testDatabase(t)
  await registerIndex(db, 'main')
  // The clock of the caller is ahead.
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 20_000 })
  await requestRebuild(db, 'main').finally(() => mock.timers.reset())
  const { isPast } = await db
    .selectFrom('search_indexes')
    .select((eb) => eb('rebuild_requested_at', '<=', eb.fn<Date>('now')).as('isPast'))
    .executeTakeFirstOrThrow()
  t.ok(isPast)
})

t.test(
  'an engine that returns different settings causes one rebuild, and no change waits',
  async (t) => {
    const service = await testService(t)
    await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
    replaceUntilEnd(t, indexCheckInterval, { ms: 500 })
    const proxy = await startFaultyProxy(
      t,
      await startProxyWithOtherSettings(t, service.config.MEILI_URL),
    )
    const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
    await waitForOutput(indexer, 'The settings of the index were changed')
    await waitForOutput(indexer, 'A rebuild did not help. The settings of the index were changed')
    // After an error the indexer starts over and checks the settings again.
    proxy.cut = { text: `GET /indexes/${service.config.SEARCH_INDEX} HTTP`, times: 1 }
    await waitForOutput(indexer, /Trying again.*The indexer works again/s)
    t.equal(proxy.cut.times, 0)
    await service.pool.query('truncate products cascade')
    await waitForOutput(indexer, 'The index contains 0 products.')
    t.match(indexer.output(), 'The table of products was truncated.')
    await requestRebuild(service.db, service.config.SEARCH_ENGINE)
    await waitForOutput(indexer, 'A rebuild was requested.')
    t.equal(indexer.output().match(/engine: rankingRules\. Building the index/g)?.length, 1)
    t.equal(indexer.output().match(/A rebuild did not help/g)?.length, 1)
  },
)

/** Starts an engine that returns settings that differ from those sent, as a later version might. */
async function startProxyWithOtherSettings(t: Test, engineUrl: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    const { authorization = '', 'content-type': contentType } = headers
    const answer = await fetch(new URL(url, engineUrl), {
      method,
      headers: { authorization, ...(contentType && { 'content-type': contentType }) },
      ...(method !== 'GET' && { body: await buffer(request) }),
    })
    const text = await answer.text()
    const isSettings = method === 'GET' && url.endsWith('/settings')
    const body = isSettings ? JSON.stringify({ ...JSON.parse(text), rankingRules: [] }) : text
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
