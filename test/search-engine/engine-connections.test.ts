// Connections to a search engine that were dropped silently: a timeout replaces all of them, even
// if a newer one works.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { EngineTimeout } from '../../src/search-engine/request-outcome.ts'
import { openSearchEngine } from '../../src/search-engine/search-client.ts'
import { servers } from '../support/database/test-database.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

const limitMs = 5_000

function createTimeLimit(ms: number): AbortSignal {
  const stop = new AbortController()
  setTimeout(() => stop.abort(new EngineTimeout(ms)), ms).unref()
  return stop.signal
}

t.test(
  'a timeout on one connection replaces all of them, even while another one works',
  async (t) => {
    const { meiliUrls, meiliMasterKey } = await servers()
    const proxy = await startFaultyProxy(t, String(meiliUrls[0]))
    const engine = openSearchEngine(proxy.url, meiliMasterKey)
    t.teardown(() => engine.close())
    const search = (ms = limitMs) => engine.search([], createTimeLimit(ms))
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

    const lost = proxy.countLostRequests()
    const later = await searchAtOnce(8)
    t.ok(later.every(({ status }) => status === 'fulfilled'))
    t.equal(proxy.countLostRequests(), lost, 'no search uses a forgotten connection')
  },
)
