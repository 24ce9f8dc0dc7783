// What prevents endless rebuilds: extra settings of the engine do not count as differences, and a
// rebuild that does not help is not repeated at once.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { requestRebuild } from '../../src/indexing/index-record.ts'
import { RebuildBackoff } from '../../src/indexing/rebuild/rebuild-backoff.ts'
import { isPartOf } from '../../src/indexing/rebuild/rebuild-reason.ts'
import { registerIndex } from '../../src/indexing/register-index.ts'
import { testDatabase } from '../support/test-database.ts'
import { testService } from '../support/test-service.ts'
import { startIndexer, waitForOutput } from './run-indexer.ts'

t.test('ignores extra settings returned by the engine', async (t) => {
  const expected = { typo: { enabled: true, sizes: { one: 4 } }, rules: ['words', 'typo'] }
  t.ok(isPartOf(expected, structuredClone(expected)))
  t.ok(isPartOf(expected, { ...expected, typo: { ...expected.typo, newDefault: null }, more: 1 }))
  t.notOk(isPartOf(expected, { ...expected, rules: ['words'] }))
  t.notOk(isPartOf(expected, { ...expected, rules: ['words', 'typo', 'more'] }))
  t.notOk(isPartOf(expected, { ...expected, typo: { enabled: true, sizes: {} } }))
  t.notOk(isPartOf(expected, {}))
})

t.test('does not repeat a rebuild at once for a reason that it did not remove', async (t) => {
  const lines: string[] = []
  const backoff = new RebuildBackoff((line) => lines.push(line))
  t.ok(backoff.tryStartRebuild('settings_changed'))
  for (let n = 0; n < 20; n++) t.notOk(backoff.tryStartRebuild('settings_changed'))
  t.equal(lines.length, 1, 'logged once')
  t.ok(backoff.tryStartRebuild('rebuild_requested'), 'a request is always followed')
  t.ok(backoff.tryStartRebuild('engine_restored'))
  t.ok(backoff.tryStartRebuild('count_mismatch'), 'another reason')
})

t.test('timestamps a rebuild request with the database clock', async (t) => {
  const { db } = await testDatabase(t)
  await registerIndex(db, 'main')
  // The clock of the caller is ahead.
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 20_000 })
  await requestRebuild(db, 'main').finally(() => mock.timers.reset())
  const { isPast } = await db
    .selectFrom('search_engines')
    .select((eb) => eb('rebuild_asked_at', '<=', eb.fn<Date>('now')).as('isPast'))
    .executeTakeFirstOrThrow()
  t.ok(isPast)
})

t.test(
  'an engine that returns different settings causes one rebuild, and no change waits',
  async (t) => {
    const service = await testService(t)
    await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
    const meiliUrl = await startProxyWithOtherSettings(t, service.config.MEILI_URL)
    const indexer = await startIndexer(t, service, { meiliUrl })
    await waitForOutput(indexer, 'The settings of the index were changed')
    await waitForOutput(indexer, 'A rebuild did not help (settings_changed)')
    await service.pool.query('truncate products cascade')
    await waitForOutput(indexer, 'The index contains 0 products.')
    t.match(indexer.output(), 'The table of products was truncated.')
    await requestRebuild(service.db, service.config.SEARCH_ENGINE)
    await waitForOutput(indexer, 'A rebuild was requested.')
    t.equal(indexer.output().match(/The settings of the index were changed/g)?.length, 1)
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
