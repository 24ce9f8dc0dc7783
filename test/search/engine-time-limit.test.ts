// The time limit of the requests that one search sends to an engine.
import t from 'tap'
import { startEngineTimeLimit } from '../../src/search/engine-time-limit.ts'

t.test('aborts the requests when the client disconnects', async (t) => {
  const disconnect = new AbortController()
  const limit = startEngineTimeLimit(disconnect.signal)
  t.teardown(limit.end)
  t.notOk(limit.signal.aborted)
  disconnect.abort()
  t.ok(limit.signal.aborted)
})

t.test('aborts the requests at once if the client has already disconnected', async (t) => {
  const limit = startEngineTimeLimit(AbortSignal.abort())
  t.teardown(limit.end)
  t.ok(limit.signal.aborted)
})
