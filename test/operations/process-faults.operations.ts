// Alerts about single processes and about what Prometheus scrapes fire when that is wrong.
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { logins } from '../support/database/database-roles.ts'
import { startApi } from '../support/service/test-service.ts'
import { startFaultWorld } from './fault-world.ts'

type RoundRobinRelay = { url: string; setServers(urls: string[]): void }

/** Starts a relay to the servers with these URLs on a free port. It stops when the test ends. */
async function startRoundRobinRelay(
  t: { teardown(fn: () => unknown): void },
  urls: string[],
): Promise<RoundRobinRelay> {
  let servers = urls
  let count = 0
  const server = createServer((request, response) => {
    const target = servers[count++ % servers.length] ?? ''
    const { method = 'GET', url = '/', headers } = request
    const forwarded = httpRequest(new URL(url, target), { method, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers))
    })
    // A server may end first when the test ends.
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setServers: (next) => {
      servers = next
    },
  }
}

const {
  apiEnv,
  apiPort,
  causes,
  config,
  db,
  directory,
  indexer,
  keepCalling,
  links,
  meiliMasterKey,
  prometheus,
  service,
  startIndexer,
  targets,
} = await startFaultWorld(t)
const stopSearching = keepCalling('/api/search?q=martillo{n}')
const stopReading = keepCalling(`/quote/share/${links[0]}`, { pauseMs: 200 })
t.teardown(stopSearching)
t.teardown(stopReading)

t.test('a document that is too large for the engine', async (t) => {
  const small = await startMeilisearch({
    directory: join(directory, 'small'),
    masterKey: meiliMasterKey,
    flags: ['--http-payload-size-limit', '26kB'],
  })
  t.teardown(() => small.stop())
  await ensurePermanentKeys(openIndexingClient(small.url, meiliMasterKey))
  const parking = await startIndexer({ MEILI_URL: small.url, SEARCH_ENGINE: 'small' })
  prometheus.setTargets({ ...targets, 'trade-quoting-service-indexer': [parking.port] })
  await causes(t, async () => {
    await sql`
        insert into products (sku, name, description)
        values ('LONG-1', 'Largo', ${'漢'.repeat(9_900)})
      `.execute(db)
    return undefined
  }, ['IndexDocumentsParked'])
  prometheus.setTargets(targets)
  parking.program.child.kill('SIGTERM')
})

t.test('an indexer that may not purge, and stands by', async (t) => {
  const indexerRole = sql.id(logins.indexer.name)
  await sql`revoke execute on function purge_search_report() from ${indexerRole}`.execute(db)
  const other = await startIndexer()
  await causes(
    t,
    async () => {
      prometheus.setTargets({ ...targets, 'trade-quoting-service-indexer': [other.port] })
      return undefined
    },
    // It stands by, and the indexer that works is not scraped.
    ['RegularTaskFailing', 'NoIndexerWorks'],
  )
  prometheus.setTargets(targets)
  other.program.child.kill('SIGTERM')
})

t.test('a process with a wrong clock, too much memory and wrong settings', async (t) => {
  const second = await startMeilisearch({
    directory: join(directory, 'second'),
    masterKey: meiliMasterKey,
  })
  t.teardown(() => second.stop())
  await ensurePermanentKeys(openIndexingClient(second.url, meiliMasterKey))
  const relay = await startRoundRobinRelay(t, [config.MEILI_URL, second.url])
  const balanced = await startIndexer({ MEILI_URL: relay.url, SEARCH_ENGINE: 'balanced' })
  const preload = `
    globalThis.leak = Buffer.alloc(1.1e9, 1)
    const now = Date.now
    Date.now = () => now() + 30_000
  `
  const wrong = await startApi(t, service, {
    ...apiEnv,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
    SEARCH_ENGINE: 'never-built',
    MORE_SEARCH_ENGINES: `balanced=${relay.url}`,
    MEILI_URL: config.MEILI_URL,
  })
  const wrongPort = Number(new URL(wrong.opsUrl).port)
  const more = {
    'trade-quoting-service': [apiPort, wrongPort],
    'trade-quoting-service-indexer': [indexer.port, balanced.port],
  }
  await causes(t, async () => {
    prometheus.setTargets(more)
    return undefined
  }, ['ClockWrong', 'MemoryHigh', 'IndexMissing'])
  await causes(t, async () => {
    wrong.child.kill('SIGKILL')
    balanced.program.child.kill('SIGKILL')
    return undefined
  }, ['ServiceDown', 'IndexerDown'])
  await causes(t, async () => {
    prometheus.setTargets({ ...more, 'trade-quoting-service': [apiPort] })
    return undefined
  }, ['FewerProcesses'])
})

t.test('a discovery that finds nothing', async (t) => {
  await causes(t, async () => {
    prometheus.setTargets({ 'trade-quoting-service': [], 'trade-quoting-service-indexer': [] })
    return undefined
  }, ['NothingScraped', 'IndexerNotScraped'])
})
