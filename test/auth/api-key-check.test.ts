// Checks of API keys: revocation, limits on invalid keys, and what logs and reports say of them.
// Numbers such as S9 are those of the attacks in docs/security.md.
import t from 'tap'
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
  const others = []
  // The same address in two spellings, which has guesses of its own.
  for (let n = 0; n < 6; n += 1) {
    const address = n % 2 ? '192.0.2.7' : '::ffff:192.0.2.7'
    others.push((await search(unknownKey(n), address)).statusCode)
  }
  t.same(others, [401, 401, 401, 401, 401, 429])
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

type RequestLine = { msg: string; key: string | null; status: number; reason?: string }

const aMinuteAgo = () => new Date(Date.now() - 60_000)
const withOtherSecret = (key: string) => key.replace(secretOf(key), 'A'.repeat(43))

t.test(
  'the log says which key was refused and why, in other words than the response',
  async (t) => {
    lengthenTimeouts(t)
    const lines: RequestLine[] = []
    const { app, db } = await testService(t, {
      config: { CALLER_GUESS_LIMIT_PER_MINUTE: 3, SEARCH_LIMIT_PER_SECOND: 1_000 },
      log: (line) => lines.push(JSON.parse(line)),
      index: false,
    })
    let callers = 0
    /** Sends a request from an address of its own, and returns what the log says. */
    const send = async (
      headers: Record<string, string>,
      { url = '/api/search?sku=a', method = 'GET', remoteAddress = `192.0.2.${++callers}` } = {},
    ) => {
      lines.length = 0
      const isPreflight = method === 'OPTIONS'
      const response = await app.inject({
        url,
        headers,
        remoteAddress,
        method: isPreflight ? 'OPTIONS' : 'GET',
      })
      const { key, status, reason } = lines.find(({ msg }) => msg === 'request') ?? {}
      if (reason !== undefined) t.notMatch(response.body, reason)
      return { status, key, reason, response }
    }
    const valid = await createSecretKey(db)
    const expired = await createSecretKey(db, { expiresAt: aMinuteAgo() })
    const revoked = await createSecretKey(db)
    await revokeApiKey(db, idOf(revoked))
    const limited = await createSecretKey(db, { limitFactor: 0.001 })
    const publishable = await createApiKey(db, {
      kind: 'publishable',
      name: 'shop',
      scopes: ['search:read'],
      origins: ['https://shop.example'],
    })
    const origin = 'https://other.example'
    const preflight = { origin, 'access-control-request-method': 'GET' }
    type Row = [
      headers: Record<string, string>,
      status: number,
      key: string | null,
      reason: string | undefined,
      request?: { url?: string; method?: string },
    ]
    const rows: Row[] = [
      [bearer(valid), 200, valid, undefined],
      [bearer(unknownKey(1)), 401, null, 'unknown key'],
      [bearer(withOtherSecret(valid)), 401, null, 'unknown key'],
      [bearer(expired), 401, expired, 'expired key'],
      [bearer(revoked), 401, revoked, 'revoked key'],
      [{}, 401, null, 'secret key in the URL', { url: `/api/search?key=${valid}` }],
      [bearer(publishable), 403, publishable, 'wrong origin'],
      [{ ...bearer(publishable), origin }, 403, publishable, 'wrong origin'],
      [preflight, 403, null, 'wrong origin', { method: 'OPTIONS' }],
      [bearer(publishable), 403, publishable, 'missing scope', { url: '/api/stats' }],
      ...['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer a b', '', 'Bearer ', 'tqs_x'].map(
        (authorization): Row => [{ authorization }, 401, null, 'malformed Authorization header'],
      ),
    ]
    for (const [headers, status, key, reason, request] of rows)
      t.match(
        await send(headers, request),
        { status, key: key && idOf(key), reason },
        JSON.stringify([headers, request]),
      )

    const exceed = () => send(bearer(limited))
    const tooFast = await eventually(exceed, ({ status }) => status === 429)
    t.match(tooFast, { key: idOf(limited), reason: 'request rate' })

    // Only unknown keys and wrong secrets are guesses.
    for (const [title, headers, isGuess] of [
      ['expired', bearer(expired), false],
      ['revoked', bearer(revoked), false],
      ['malformed', { authorization: 'Basic x' }, false],
      ['wrong secret', bearer(withOtherSecret(valid)), true],
      ['unknown', bearer(unknownKey(2)), true],
    ] as const) {
      const remoteAddress = `198.51.100.${title.length}`
      const repeat = async () => {
        const answers = []
        for (let n = 0; n < 5; n++) answers.push(await send(headers, { remoteAddress }))
        return answers
      }
      if (isGuess) {
        const isLimited = (answers: { status: number | undefined }[]) =>
          answers.some(({ status }) => status === 429)
        const answers = await eventually(repeat, isLimited)
        t.match(answers.at(-1), { status: 429, reason: 'too many failed attempts' }, title)
      } else {
        t.ok(
          (await repeat()).every(({ status }) => status === 401),
          title,
        )
        // This process has not found it before, so it would be rejected after too many guesses.
        const fresh = await createSecretKey(db)
        t.match(await send(bearer(fresh), { remoteAddress }), { status: 200, key: idOf(fresh) })
      }
    }

    await revokeApiKey(db, idOf(valid))
    const inUse = await eventually(
      () => send(bearer(valid)),
      ({ status }) => status === 401,
    )
    t.match(inUse, { key: idOf(valid), reason: 'revoked key' }, 'a key that was in use')
  },
)

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
