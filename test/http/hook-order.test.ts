// The order of the hooks that every request passes, which src/app.ts lists. Each test fails if two
// of them are swapped.
import t from 'tap'
import { freezeDate } from '../support/fresh-window.ts'
import { bearer, createSecretKey, unknownKey } from '../support/secret-keys.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

const otherHost = { host: 'evil.example' }

t.test('the problem of every check of a request has the common headers', async (t) => {
  const { app } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 1 }, index: false })
  const request = (headers = {}) => app.inject({ url: '/api/stats', headers })
  freezeDate(t)
  t.equal((await request()).statusCode, 200)
  for (const [headers, status] of [
    [otherHost, 421],
    [bearer(unknownKey(1)), 401],
    [{}, 429],
  ] as const) {
    const response = await request(headers)
    t.equal(response.statusCode, status)
    t.equal(response.headers['x-request-id'], response.json().requestId, `${status}`)
    t.equal(response.headers['x-content-type-options'], 'nosniff', `${status}`)
  }
})

t.test('the host is checked before the key, so another host cannot try keys', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 1 },
    index: false,
  })
  const getStatsStatus = async (key: string, headers = {}) =>
    (await app.inject({ url: '/api/stats', headers: { ...bearer(key), ...headers } })).statusCode
  freezeDate(t)
  for (const n of [1, 2, 3]) t.equal(await getStatsStatus(unknownKey(n), otherHost), 421)
  t.equal(await getStatsStatus(unknownKey(4)), 401, 'the guesses are not used up')
  const key = await createSecretKey(db, { scopes: ['stats:read'] })
  t.equal(await getStatsStatus(key, otherHost), 421)
})

t.test('the key is checked before the rate limit, which counts each key on its own', async (t) => {
  const { app, db } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 1 }, index: false })
  const getStatsStatus = async (headers = {}) =>
    (await app.inject({ url: '/api/stats', headers })).statusCode
  const key = await createSecretKey(db, { scopes: ['stats:read'] })
  freezeDate(t)
  t.same([await getStatsStatus(), await getStatsStatus()], [200, 429])
  t.equal(await getStatsStatus(bearer(unknownKey(1))), 401)
  t.same([await getStatsStatus(bearer(key)), await getStatsStatus(bearer(key))], [200, 429])
})
