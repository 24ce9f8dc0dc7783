// The client of the search engine: what its failures mean, and connections that were dropped
// silently.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { openSearchEngine } from '../../src/search-engine/client.ts'
import { servers } from '../support/database/test-database.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

const limitMs = 5_000

t.test(
  'a timeout on one connection replaces all of them, even while another one works',
  async (t) => {
    const { meiliUrls, meiliMasterKey } = await servers()
    const proxy = await startFaultyProxy(t, String(meiliUrls[0]))
    const engine = openSearchEngine(proxy.url, meiliMasterKey)
    t.teardown(() => engine.close())
    const search = (ms = limitMs) => engine.search([], AbortSignal.timeout(ms))
    const searchAtOnce = (count: number, ms = limitMs) =>
      Promise.allSettled(Array.from({ length: count }, () => search(ms)))

    proxy.delayMs = 200
    await searchAtOnce(8)
    proxy.delayMs = 0
    // undici uses a connection again only in the next turn of the event loop.
    await setImmediate()
    t.equal(proxy.countConnections(), 8)
    proxy.forgetConnections({ kept: 4 })
    // Of the eight connections, five are used: at least one that works, and one that does not.
    const answers = await searchAtOnce(5, 1_000)
    t.ok(answers.some(({ status }) => status === 'fulfilled'))
    t.ok(answers.some(({ status }) => status === 'rejected'))

    const lost = proxy.lostRequests
    const later = await searchAtOnce(8)
    t.ok(later.every(({ status }) => status === 'fulfilled'))
    t.equal(proxy.lostRequests, lost, 'no search uses a forgotten connection')
  },
)

for (const [status, body, failure] of [
  [200, '{}', { outcome: 'outage', message: 'the search engine returned no results' }],
  [200, 'a proxy', { outcome: 'outage', message: 'the search engine returned no results' }],
  [400, '{"code":"invalid_search_q","message":"geheim"}', { outcome: 'rejected' }],
  [400, '{"code":"index_not_found"}', { outcome: 'outage' }],
  [403, '{"code":"invalid_api_key"}', { outcome: 'outage', message: /403 \(invalid_api_key\)/ }],
  [404, '<html>', { outcome: 'outage', message: 'Meilisearch answered 404' }],
  [413, '', { outcome: 'rejected' }],
  [429, '', { outcome: 'timeout' }],
  [500, '', { outcome: 'timeout' }],
  [0, '', { outcome: 'outage', cause: Error }],
] as const)
  t.test(`an answer ${status} ${body} means ${failure.outcome}`, async (t) => {
    const server = createServer((_request, response) => {
      if (status === 0) response.destroy()
      else response.writeHead(status).end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const engine = openSearchEngine(`http://127.0.0.1:${port}`, 'no key')
    t.teardown(async () => {
      await engine.close()
      server.close()
    })
    const error = await engine.search([], new AbortController().signal).catch((own) => own)
    t.match(error, failure)
    t.notMatch(error.message, 'geheim', 'the message does not contain what was searched')
  })
