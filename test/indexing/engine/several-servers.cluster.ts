// If one URL leads to several Meilisearch servers, nothing is written, the index is not used, and
// status, health and metrics say why.
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startMeilisearch } from '../../../scripts/servers/meilisearch.ts'
import { openIndexingClient } from '../../../src/indexing/engine/indexing-client.ts'
import {
  deriveSearchKey,
  ensurePermanentKeys,
} from '../../../src/indexing/engine/permanent-keys.ts'
import { servers } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { startRoundRobinRelay } from '../../support/servers/round-robin-relay.ts'
import { startApi, testService } from '../../support/service/test-service.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'
import { startIndexer, startIndexerProcess, waitForOutput } from '../run-indexer.ts'

const limitMs = 60_000

async function startEngine(t: Test, directory: string) {
  const { meiliMasterKey: masterKey } = await servers()
  const server = await startMeilisearch({ directory, masterKey })
  t.teardown(() => server.stop())
  const client = openIndexingClient(server.url, masterKey)
  await ensurePermanentKeys(client)
  return { server, url: server.url, client }
}

/** Returns how often a text occurs. */
const count = (text: string, part: string) => text.split(part).length - 1

const fault = 'MEILI_URL leads to several Meilisearch servers'

t.test('detects a second server behind the URL of a running engine', async (t) => {
  const directory = createTemporaryDirectory(t, 'several')
  const first = await startEngine(t, join(directory, 'first'))
  const second = await startEngine(t, join(directory, 'second'))
  const relay = await startRoundRobinRelay(t, [first.url])
  const { meiliMasterKey } = await servers()
  const service = await testService(t, {
    index: false,
    config: { MEILI_URL: relay.url, MEILI_SEARCH_KEY: deriveSearchKey(meiliMasterKey) },
  })
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
  const indexer = await startIndexer(t, service, { meiliUrl: relay.url })
  await waitForOutput(indexer, 'Following changes.')
  const api = await startApi(t, service)
  const readSource = async () => {
    const response = await fetch(`${api.url}/api/search?q=alicate`)
    const { hits, meta } = (await response.json()) as {
      hits: { name: string }[]
      meta: { source: string }
    }
    return [response.status, hits.map(({ name }) => name), meta.source]
  }
  const isFrom = (source: string) => (answer: unknown[]) => answer[2] === source
  const ready = async () => (await (await fetch(`${api.opsUrl}/health/ready`)).json()) as object
  const metric = async () =>
    /^tqs_index_several_servers\{engine="main"\} (\d)/m.exec(
      await (await fetch(`${api.opsUrl}/metrics`)).text(),
    )?.[1]
  t.same(await eventually(readSource, isFrom('index'), limitMs), [200, ['Alicate'], 'index'])
  t.equal(await metric(), '0')

  relay.setServers([first.url, second.url])
  await waitForOutput(indexer, fault)
  t.same(
    await eventually(readSource, isFrom('database'), limitMs),
    [200, ['Alicate'], 'database'],
    'PostgreSQL answers instead of one of two indexes',
  )
  t.match(await ready(), {
    status: 'degraded',
    degraded: ['search index'],
    checks: { searchEngine: 'several servers' },
  })
  t.equal(await metric(), '1')
  const status = await startIndexerProcess(t, service, ['status'])
  t.equal(await status.exit, 0)
  t.match(status.output(), /fault +the URL of the engine leads to several servers/)
  await service.db.updateTable('products').set({ name: 'Alicate nuevo' }).execute()
  t.equal((await second.client.getRawIndexes()).total, 0, 'nothing was built on the second server')
  t.equal(count(indexer.output(), fault), 1, 'one line')
  t.equal(count(indexer.output(), 'Building the index'), 1, 'no rebuild')

  relay.setServers([first.url])
  t.same(
    await eventually(readSource, isFrom('index'), limitMs),
    [200, ['Alicate nuevo'], 'index'],
    'the index is built again without a restart',
  )
  t.match(await ready(), { degraded: [], checks: { searchEngine: 'up' } })
  t.equal(await metric(), '0')
})

t.test('detects two servers with the same data', async (t) => {
  const directory = createTemporaryDirectory(t, 'several')
  const first = await startEngine(t, join(directory, 'first'))
  const service = await testService(t, { index: false, config: { MEILI_URL: first.url } })
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
  const before = await startIndexer(t, service)
  await waitForOutput(before, 'Following changes.')
  await before.stop()
  await first.server.stop()
  await cp(join(directory, 'first'), join(directory, 'copy'), { recursive: true })
  const [again, copy] = [
    await startEngine(t, join(directory, 'first')),
    await startEngine(t, join(directory, 'copy')),
  ]
  const relay = await startRoundRobinRelay(t, [again.url, copy.url])
  const indexer = await startIndexer(t, service, { meiliUrl: relay.url })
  await waitForOutput(indexer, fault)
  t.notMatch(indexer.output(), 'Following changes.')
  // The indexer starts over again and again, and must not create keys each time.
  const keyCount = (await again.client.getKeys()).total + (await copy.client.getKeys()).total
  t.ok(keyCount < 20, `${keyCount} keys`)
})
