// What prevents endless rebuilds: extra settings of the engine do not count as differences, and a
// rebuild that does not help is not repeated at once.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { engineCheckInterval } from '../../../src/indexing/indexer-run.ts'
import { RebuildBackoff } from '../../../src/indexing/rebuild/rebuild-backoff.ts'
import { createReason, type ReasonName } from '../../../src/indexing/rebuild/rebuild-reason.ts'
import { registerIndex } from '../../../src/indexing/register-and-wait.ts'
import { requestRebuild } from '../../../src/indexing/registration.ts'
import { indexSettings } from '../../../src/indexing/settings/index-settings.ts'
import { listChangedSettings } from '../../../src/indexing/settings/settings-difference.ts'
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

t.test('does not repeat a rebuild at once for a reason that it did not remove', async (t) => {
  const { lines, tryRebuild } = startBackoff()
  t.ok(await tryRebuild('settings_changed'))
  for (let n = 0; n < 20; n++) t.notOk(await tryRebuild('settings_changed'))
  t.equal(lines.length, 1, 'logged once')
  t.ok(await tryRebuild('rebuild_requested'), 'a request is always followed')
  t.ok(await tryRebuild('engine_restored'))
  t.ok(await tryRebuild('count_mismatch'), 'another reason')
})

t.test('two reasons that alternate have a pause each', async (t) => {
  const { clock, lines, tryRebuild } = startBackoff()
  t.ok(await tryRebuild('settings_changed'))
  t.ok(await tryRebuild('count_mismatch'))
  for (let n = 0; n < 20; n++) {
    t.notOk(await tryRebuild('settings_changed'))
    t.notOk(await tryRebuild('count_mismatch'))
  }
  t.match(
    lines,
    [
      /settings .* were changed .* Meilisearch/,
      /number of documents differs .* write to the index/,
    ],
    'each logged once, with its own advice',
  )
  t.equal(lines.length, 2)
  clock.ms += 60_000
  t.ok(await tryRebuild('settings_changed'))
  t.ok(await tryRebuild('count_mismatch'))
  clock.ms += 60_000
  t.notOk(await tryRebuild('settings_changed'), 'the second pause takes two minutes')
  t.notOk(await tryRebuild('count_mismatch'))
})

t.test('waits twice as long before each further rebuild, up to an hour', async (t) => {
  const { clock, tryRebuild } = startBackoff()
  const minuteMs = 60_000
  for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
    t.ok(await tryRebuild('settings_changed'))
    clock.ms += minutes * minuteMs - 1
    t.notOk(await tryRebuild('settings_changed'), `${minutes} minutes are not over`)
    clock.ms += 1
  }
  clock.ms += 61 * minuteMs
  t.ok(await tryRebuild('settings_changed'))
  clock.ms += minuteMs
  t.ok(await tryRebuild('settings_changed'), 'it begins anew after an hour without a reason')
})

t.test('waits from the end of a rebuild, however long it takes', async (t) => {
  const { clock, lines, tryRebuild } = startBackoff()
  const minuteMs = 60_000
  t.ok(await tryRebuild('settings_changed', { durationMs: 90 * minuteMs }))
  t.notOk(await tryRebuild('settings_changed'))
  t.match(lines, [/A rebuild did not help.* Waiting 60 s/])
  clock.ms += minuteMs
  t.ok(await tryRebuild('settings_changed', { durationMs: 90 * minuteMs }))
  clock.ms += 2 * minuteMs - 1
  t.notOk(await tryRebuild('settings_changed'), 'the second pause takes two minutes')
})

t.test('repeats a rebuild at once that an error has ended', async (t) => {
  const { backoff, tryRebuild } = startBackoff()
  const failing = backoff.runUnlessBackingOff(createReason('settings_changed'), () =>
    Promise.reject(new Error('PostgreSQL does not answer.')),
  )
  await t.rejects(failing, /does not answer/)
  t.ok(await tryRebuild('settings_changed'))
  t.notOk(await tryRebuild('settings_changed'))
})

/** A backoff whose clock the test sets, and what it has logged. */
function startBackoff() {
  const lines: string[] = []
  const clock = { ms: 0 }
  const backoff = new RebuildBackoff(
    (line) => lines.push(line),
    () => clock.ms,
  )
  /** Returns whether the rebuild was run. If so, it took this long. */
  const tryRebuild = async (reason: ReasonName, { durationMs = 0 } = {}): Promise<boolean> => {
    let wasRun = false
    await backoff.runUnlessBackingOff(createReason(reason), async () => {
      wasRun = true
      clock.ms += durationMs
    })
    return wasRun
  }
  return { backoff, lines, clock, tryRebuild }
}

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
    replaceUntilEnd(t, engineCheckInterval, { ms: 500 })
    const proxy = await startFaultyProxy(
      t,
      await startProxyWithOtherSettings(t, service.config.MEILI_URL),
    )
    const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
    await waitForOutput(indexer, 'The settings of the index were changed')
    await waitForOutput(indexer, 'A rebuild did not help. The settings of the index were changed')
    // After an error the indexer starts over and checks the settings again.
    proxy.cut = { text: 'GET /keys', times: 1 }
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
