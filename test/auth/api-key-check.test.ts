// Checks of API keys: revocation, limits on invalid keys, and what logs and reports say of them.
// Numbers such as S9 are those of the attacks in docs/security.md.
import t, { type Test } from 'tap'
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { freezeDate } from '../support/fresh-window.ts'
import { idOf, secretOf } from '../support/key-parts.ts'
import { bearer, createSecretKey, statusOf, unknownKey } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startApi, testService } from '../support/service/test-service.ts'

t.test('rejects a revoked key in every process within 5 s', async (t) => {
  const service = await testService(t)
  const processes = await Promise.all([startApi(t, service), startApi(t, service)])
  const measureRevocation = async () => {
    const key = await createSecretKey(service.db)
    const statuses = () =>
      Promise.all(
        processes.map(
          async ({ url }) =>
            (await fetch(`${url}/api/search?q=a`, { headers: bearer(key) })).status,
        ),
      )
    const areAll = (status: number) => (codes: number[]) => codes.every((code) => code === status)
    t.same(await eventually(statuses, areAll(200)), [200, 200])
    t.ok(await revokeApiKey(service.db, idOf(key)))
    const revokedAt = Date.now()
    // The requests keep the key in the cache as long as possible.
    t.same(await eventually(statuses, areAll(401)), [401, 401])
    return Date.now() - revokedAt
  }
  // One may be slower, because a busy machine may stop for seconds.
  const durationsMs = [await measureRevocation(), await measureRevocation()]
  const areFast = () => durationsMs.filter((ms) => ms < 5_000).length >= 2
  if (!areFast()) durationsMs.push(await measureRevocation())
  t.ok(areFast(), `after ${durationsMs.join(', ')} ms`)
})

t.test('an address can guess few keys, and use keys that were found before (S9)', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 5 },
    index: false,
  })
  const valid = await createSecretKey(db)
  const search = (key: string, remoteAddress: string, headers = {}) =>
    app.inject({ url: '/api/search', headers: { ...bearer(key), ...headers }, remoteAddress })
  t.equal((await search(valid, '2001:db8:1:2::1')).statusCode, 200)
  freezeDate(t)
  const statuses: number[] = []
  for (let n = 0; n < 16; n += 1) {
    // A different address of the same /64 each time, and a different X-Forwarded-For.
    const response = await search(n % 2 ? unknownKey(n) : 'nonsense', `2001:db8:1:2::${n + 2}`, {
      'x-forwarded-for': `198.51.100.${n}`,
    })
    statuses.push(response.statusCode)
    if (response.statusCode === 429) t.ok(Number(response.headers['retry-after']) >= 1)
  }
  t.same(statuses, [...Array(5).fill(401), ...Array(11).fill(429)])
  t.equal(
    (await search(valid, '2001:db8:1:2::1')).statusCode,
    200,
    'a key that was found before works even if its address has used up its guesses',
  )
  t.equal(
    (await search(unknownKey(99), '192.0.2.1')).statusCode,
    401,
    'a different address has guesses of its own',
  )
})

t.test('rejects keys with 503 while too many are looked up, without an error each', async (t) => {
  lengthenTimeouts(t)
  const lines: { level: number; status?: number; reason?: string }[] = []
  const { app } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 1_000 },
    log: (line) => lines.push(JSON.parse(line)),
    index: false,
  })
  const statuses = await Promise.all(
    Array.from({ length: 200 }, (_, n) => statusOf(app, '/api/search', unknownKey(n))),
  )
  t.same([...new Set(statuses)].sort(), [401, 503])
  const rejectedCount = statuses.filter((status) => status === 503).length
  const rejections = await eventually(
    async () => lines.filter(({ status }) => status === 503),
    ({ length }) => length === rejectedCount,
  )
  t.equal(rejections.length, rejectedCount)
  for (const { reason } of rejections) t.equal(reason, 'too many look-ups of keys')
  t.equal(lines.filter(({ level }) => level >= 50).length, 1)
})

t.test('after guesses, a valid key that is new to a process is limited too (S9)', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 5 },
    index: false,
  })
  const request = (key: string, remoteAddress: string) =>
    app.inject({ url: '/api/search', headers: bearer(key), remoteAddress })
  const search = async (key: string, remoteAddress: string) =>
    (await request(key, remoteAddress)).statusCode
  freezeDate(t)
  for (let n = 0; n < 5; n += 1) t.equal(await search(unknownKey(n), '192.0.2.1'), 401)
  const key = await createSecretKey(db)
  t.match((await request(key, '192.0.2.1')).json(), {
    status: 429,
    detail: /^Too many unknown keys from your address: .+ This key was not checked, so it may be/,
  })
  t.equal(await search(key, '192.0.2.2'), 200)
  t.equal(await search(key, '192.0.2.1'), 200, 'once this process has found it elsewhere')
})

t.test('simultaneous guesses are all looked up, and only the limit of them gets 401', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 5 },
    index: false,
  })
  const valid = await createSecretKey(db)
  const keys = Array.from({ length: 100 }, (_, n) => (n === 30 ? valid : unknownKey(n)))
  freezeDate(t)
  const responses = await Promise.all(
    keys.map((key) => app.inject({ url: '/api/search', headers: bearer(key) })),
  )
  const countStatus = (status: number) =>
    responses.filter(({ statusCode }) => statusCode === status).length
  t.equal(responses[30]?.statusCode, 200, 'more keys were looked up than the limit')
  t.equal(countStatus(401), 5)
  t.equal(countStatus(429) + countStatus(503), 94, 'too many guesses, or too many look-ups')
  t.ok(countStatus(429) > 0)
})

/** A service with what it logs about requests, and functions that create and use keys. */
async function serviceWithRequestLog(t: Test) {
  type Line = { msg: string; key: string | null; status: number; reason?: string }
  const lines: Line[] = []
  lengthenTimeouts(t)
  const { app, db } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 3, SEARCH_LIMIT_PER_SECOND: 1_000 },
    log: (line) => lines.push(JSON.parse(line)),
    index: false,
  })
  return {
    app,
    db,
    lines,
    createKey: (expiresAt: Date | null = null) => createSecretKey(db, { expiresAt }),
    /** Returns the status, and the id of the key in the log. */
    search: async (key: string, remoteAddress: string) => {
      lines.length = 0
      const headers = bearer(key)
      const { statusCode } = await app.inject({ url: '/api/search?q=a', headers, remoteAddress })
      return { status: statusCode, key: lines.find(({ msg }) => msg === 'request')?.key }
    },
  }
}

const aMinuteAgo = () => new Date(Date.now() - 60_000)
const withOtherSecret = (key: string) => key.replace(secretOf(key), 'A'.repeat(43))

t.test('the log names the id of an expired key, but not of a forged one', async (t) => {
  const { createKey, search } = await serviceWithRequestLog(t)
  const expired = await createKey(aMinuteAgo())
  t.same(await search(expired, '192.0.2.1'), { status: 401, key: idOf(expired) })
  t.same(await search(unknownKey(1), '192.0.2.2'), { status: 401, key: null })
  t.same(await search(withOtherSecret(await createKey()), '192.0.2.3'), { status: 401, key: null })
})

t.test('expired and revoked keys are no guesses of their address', async (t) => {
  const { createKey, db, search } = await serviceWithRequestLog(t)
  const revoked = await createKey()
  await revokeApiKey(db, idOf(revoked))
  for (const refused of [revoked, await createKey(aMinuteAgo())])
    for (let n = 0; n < 5; n += 1)
      t.same(await search(refused, '192.0.2.4'), { status: 401, key: idOf(refused) })
  // This process has not found it before, so it would be rejected after too many guesses.
  const valid = await createKey()
  t.same(await search(valid, '192.0.2.4'), { status: 200, key: idOf(valid) })
})

t.test('a known id with a wrong secret is a guess', async (t) => {
  const { createKey, search } = await serviceWithRequestLog(t)
  const forged = withOtherSecret(await createKey())
  const guess = () => search(forged, '192.0.2.4')
  t.match(await guess(), { status: 401 })
  t.match(await eventually(guess, ({ status }) => status === 429), { status: 429 })
})

t.test('a malformed Authorization header is no guess, and the problem says so', async (t) => {
  const { app, createKey, lines, search } = await serviceWithRequestLog(t)
  for (const authorization of [
    'Basic dXNlcjpwYXNz',
    'Bearer',
    'Bearer a b',
    '',
    'Bearer ',
    'tqs_x',
  ]) {
    const headers = { authorization }
    const response = await app.inject({ url: '/api/search', headers, remoteAddress: '192.0.2.4' })
    t.equal(response.statusCode, 401, authorization)
    t.match(response.json().detail, /^The Authorization header does not have the form/)
    t.match(response.headers['www-authenticate'], /^Bearer/)
  }
  t.same(
    new Set(lines.filter(({ msg }) => msg === 'request').map(({ reason }) => reason)),
    new Set(['malformed Authorization header']),
  )
  // This process has not found it before, so it would be rejected after too many guesses.
  const valid = await createKey()
  t.same(await search(valid, '192.0.2.4'), { status: 200, key: idOf(valid) })
})

t.test('the log names the id of a key that was revoked while it was in use', async (t) => {
  const { createKey, db, search } = await serviceWithRequestLog(t)
  const inUse = await createKey()
  t.same(await search(inUse, '192.0.2.5'), { status: 200, key: idOf(inUse) })
  await revokeApiKey(db, idOf(inUse))
  await eventually(
    () => search(inUse, '192.0.2.5'),
    ({ status }) => status === 401,
    10_000,
  )
  t.same(await search(inUse, '192.0.2.5'), { status: 401, key: idOf(inUse) })
})

t.test('the log names the id of a key that exceeds its rate limit', async (t) => {
  const { app, createKey, db, lines } = await serviceWithRequestLog(t)
  const slow = await createKey()
  await db
    .updateTable('api_keys')
    .set({ limit_factor: '0.001' })
    .where('id', '=', idOf(slow))
    .execute()
  await Promise.all(
    Array.from({ length: 5 }, () => app.inject({ url: '/api/search?q=a', headers: bearer(slow) })),
  )
  const rejected = lines.filter(({ msg, status }) => msg === 'request' && status === 429)
  t.ok(rejected.length > 0)
  t.ok(rejected.every(({ key }) => key === idOf(slow)))
})

t.test('the log says why a caller was refused, in other words than the response', async (t) => {
  const { app, createKey, db, lines } = await serviceWithRequestLog(t)
  const publishable = await createApiKey(db, {
    kind: 'publishable',
    name: 'shop',
    scopes: ['search:read'],
    origins: ['https://shop.example'],
  })
  const revoked = await createKey()
  await revokeApiKey(db, idOf(revoked))
  const limited = await createKey()
  await db
    .updateTable('api_keys')
    .set({ limit_factor: '0.001' })
    .where('id', '=', idOf(limited))
    .execute()
  /** Returns the reason in the log. */
  const getReason = async (
    headers: Record<string, string>,
    { url = '/api/search', remoteAddress = '192.0.2.1', isPreflight = false } = {},
  ) => {
    lines.length = 0
    const method = isPreflight ? 'OPTIONS' : 'GET'
    const { body } = await app.inject({ url, headers, remoteAddress, method })
    const line = lines.find(({ msg }) => msg === 'request')
    if (line?.reason !== undefined) t.notMatch(body, line.reason)
    return line?.reason
  }
  const origin = 'https://other.example'
  t.equal(await getReason(bearer(unknownKey(1))), 'unknown key')
  t.equal(await getReason(bearer(withOtherSecret(await createKey()))), 'unknown key')
  // A different address, because the first one must not use up its guesses.
  const remoteAddress = '192.0.2.2'
  t.equal(await getReason(bearer(await createKey(aMinuteAgo())), { remoteAddress }), 'expired key')
  t.equal(await getReason(bearer(revoked), { remoteAddress }), 'revoked key')
  t.equal(await getReason({}, { url: `/api/search?key=${limited}` }), 'secret key in the URL')
  t.equal(await getReason(bearer(publishable)), 'wrong origin')
  t.equal(await getReason({ ...bearer(publishable), origin }), 'wrong origin')
  const preflight = { origin, 'access-control-request-method': 'GET' }
  t.equal(await getReason(preflight, { isPreflight: true }), 'wrong origin')
  t.equal(await getReason(bearer(publishable), { url: '/api/stats' }), 'missing scope')
  const exceed = () => getReason(bearer(limited))
  const rate = 'request rate'
  t.equal(await eventually(exceed, (reason) => reason === rate), rate)
  const guess = () => getReason(bearer(unknownKey(2)), { remoteAddress: '198.51.100.1' })
  const tooMany = 'too many failed attempts'
  t.equal(await eventually(guess, (reason) => reason === tooMany), tooMany)
})

t.test('requests whose key or origin cannot be checked write no error each', async (t) => {
  const database = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, database.url)
  type Line = { level: number; msg: string; status?: number; reason?: string }
  const lines: Line[] = []
  const { app } = await testService(t, {
    database,
    apiUrl: buildRoleUrl(faultyProxy.url, 'api'),
    log: (line) => lines.push(JSON.parse(line)),
    index: false,
  })
  faultyProxy.refuseConnections()
  for (let n = 0; n < 20; n += 1) {
    const { statusCode } = await app.inject({
      url: '/api/search?q=a',
      headers: bearer(unknownKey(n)),
      remoteAddress: `192.0.2.${n}`,
    })
    t.equal(statusCode, 503)
  }
  const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'GET' }
  for (let n = 0; n < 20; n += 1)
    t.equal(
      (await app.inject({ url: '/api/search', headers: preflight, method: 'OPTIONS' })).statusCode,
      503,
    )
  faultyProxy.restore()
  const reasons = lines.filter(({ status }) => status === 503).map(({ reason }) => reason)
  t.same(
    [...new Set(reasons)],
    ['keys cannot be read', 'origins cannot be read'],
    'each request has a reason',
  )
  t.notOk(lines.some(({ msg }) => msg === 'request failed'))
  for (const subject of [/^API keys cannot be read/, /^The origins .* cannot be read/])
    t.ok(lines.some(({ level, msg }) => level === 50 && subject.test(msg)))
})

t.test('the report counts calls, refusals and wrong secrets of each key', async (t) => {
  const { app, createKey, db, search } = await serviceWithRequestLog(t)
  const expired = await createKey(aMinuteAgo())
  const revoked = await createKey()
  await revokeApiKey(db, idOf(revoked))
  await search(withOtherSecret(revoked), '192.0.2.1')
  await search(expired, '192.0.2.2')
  for (let sent = 0; sent < 5; sent += 1) await search(revoked, '192.0.2.3')
  await app.close()
  const usage = await db
    .selectFrom('api_key_usage')
    .select(['key_id', 'calls', 'refusals', 'wrong_secrets'])
    .execute()
  const counts = new Map(usage.map(({ key_id, ...row }) => [key_id, row]))
  t.match(counts.get(idOf(revoked)), { calls: '5', refusals: '5', wrong_secrets: '1' })
  t.match(counts.get(idOf(expired)), { calls: '1', refusals: '1', wrong_secrets: '0' })
})

t.test('another spelling of an IPv4 address gives no more guesses of keys (S9)', async (t) => {
  lengthenTimeouts(t)
  const { app } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 3 },
    index: false,
  })
  freezeDate(t)
  const statuses: number[] = []
  for (let n = 0; n < 6; n += 1) {
    const remoteAddress = n % 2 ? '192.0.2.7' : '::ffff:192.0.2.7'
    statuses.push(
      (await app.inject({ url: '/api/stats', headers: bearer(unknownKey(n)), remoteAddress }))
        .statusCode,
    )
  }
  t.same(statuses, [401, 401, 401, 429, 429, 429])
})

t.test('no key can be guessed from others: they share only their prefix (S1)', async (t) => {
  const { db } = await testDatabase(t)
  const keys = await Promise.all(
    Array.from({ length: 500 }, () => createSecretKey(db, { name: 'x' })),
  )
  for (const part of [keys.map(idOf), keys.map(secretOf)]) {
    const sorted = part.toSorted()
    t.equal(new Set(sorted).size, 500)
    // Of all pairs, neighbours in sorted order share the longest prefixes.
    const commonLengths = sorted
      .slice(1)
      .map((text, n) => [...text].findIndex((letter, index) => letter !== sorted[n]?.[index]))
    const longest = Math.max(...commonLengths)
    t.ok(longest <= 7, `at most ${longest} characters in common`)
  }
})
