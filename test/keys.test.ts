// Keys over their life: made, listed, rotated, revoked on every process, last used; and what unknown ones may cost.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createApiKey, rotateApiKey } from '../src/access/api-keys.ts'
import { keyChecker } from '../src/access/key-checker.ts'
import { openDatabase } from '../src/connections.ts'
import { eventually, startApi, testDatabase, testService } from './helper.ts'
import { wireTo } from './proxy.ts'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const unknownKey = (n: number) => `tqs_${n.toString(36).padStart(12, '0')}_${'A'.repeat(43)}`

function runner(url: string) {
  return (...words: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../scripts/api-key.ts'), ...words], {
      env: { ...process.env, DATABASE_URL: url },
      encoding: 'utf8',
    })
}

t.test('a revoked key is refused by every process within 5 s', async (t) => {
  const service = await testService(t)
  const processes = await Promise.all([startApi(t, service), startApi(t, service)])
  const key = await createApiKey(service.db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const statuses = () =>
    Promise.all(processes.map(async ({ url }) => (await fetch(`${url}/api/search?q=a`, { headers: bearer(key) })).status))
  t.same(await statuses(), [200, 200])
  const run = runner(service.url)
  const id = key.slice(4, 16)
  const revoked = run('revoke', id)
  t.match(revoked, { status: 0, stdout: /Revoked/ }, revoked.stderr)
  const revokedAt = Date.now()
  // In use all the while, so that it is remembered for as long as can be.
  t.same(await eventually(statuses, (codes) => codes.every((code) => code === 401), 10_000), [401, 401])
  t.ok(Date.now() - revokedAt < 5_000, `after ${Date.now() - revokedAt} ms`)
  t.match(run('revoke', id), { status: 1, stderr: /no key/ })
})

t.test('scripts/api-key.ts makes both kinds, lists, and refuses what would be unsafe', async (t) => {
  const { app, db, url } = await testService(t, { config: { ANONYMOUS_SCOPES: [] } })
  const run = runner(url)
  t.match(run('list'), { status: 0, stdout: /There is no key/ })
  const made = run(
    'create',
    '--name',
    'Shop',
    '--kind',
    'publishable',
    '--origins',
    'https://Shop.example/,http://localhost:8080',
    '--limits',
    '2.5x',
  )
  t.equal(made.status, 0, made.stderr)
  const key = made.stdout.trim()
  t.match(key, /^tqp_[0-9a-z]{12}_[\w-]{43}$/)
  t.equal((await app.inject({ url: `/api/search?key=${key}`, headers: { origin: 'https://shop.example' } })).statusCode, 200)
  const secret = run('create', '--name', 'ERP', '--scopes', 'stats:read', '--expires', '30d', '--limits', 'none').stdout.trim()
  const { stdout } = run('list')
  t.match(stdout, /^id +kind +name/)
  t.match(
    stdout,
    new RegExp(`${key.slice(4, 16)} +publishable +Shop +search:read https://shop.example http://localhost:8080 +2.5x .* never +valid`),
  )
  t.match(stdout, new RegExp(`${secret.slice(4, 16)} +secret +ERP +stats:read +none .* never +ends 20`))
  t.notMatch(stdout, /[\w-]{43}/, 'no secret')

  run('revoke', key)
  t.notMatch(run('list').stdout, key.slice(4, 16))
  t.match(run('list', '--all').stdout, /revoked 20/)
  for (const [words, stderr] of [
    [['create', '--name', 'x', '--kind', 'publishable'], /--origins/],
    [['create', '--name', 'x', '--kind', 'publishable', '--origins', '*'], /not an origin/],
    [
      ['create', '--name', 'x', '--kind', 'publishable', '--origins', 'https://a.example', '--scopes', 'stats:read'],
      /search:read and no other/,
    ],
    [['create', '--name', 'x', '--scopes', 'search:read', '--origins', 'https://a.example'], /must not stand in a page/],
    [['create', '--name', 'x', '--scopes', 'search:read', '--limits', '0x'], /--limits/],
    [['create', '--name', 'x', '--kind', 'root', '--scopes', 'search:read'], /no kind/],
    [['revoke'], /Which key/],
    [['revoke', 'nonsense'], /12 letters/],
    [['rotate', key.slice(4, 16), '--overlap', 'soon'], /--overlap/],
    [['list', 'more'], /more/],
  ] as const)
    t.match(run(...words), { status: 2, stderr }, words.join(' '))
  t.match(run('rotate', key), { status: 1, stderr: /no valid key/ })
  t.equal((await db.selectFrom('api_keys').select('id').execute()).length, 2, 'and made nothing of it')
})

t.test('a rotation leaves two keys at once, which may do the same, until the old one ends', async (t) => {
  const { app, db, url } = await testService(t)
  const expiresAt = new Date(Date.now() + 100 * 86_400_000)
  const old = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'], limitFactor: 3, expiresAt })
  const rotated = runner(url)('rotate', old.slice(4, 16))
  t.equal(rotated.status, 0, rotated.stderr)
  t.match(rotated.stderr, /ends at 20/)
  const successor = rotated.stdout.trim()
  for (const key of [old, successor]) {
    t.equal((await app.inject({ url: '/api/search', headers: bearer(key) })).statusCode, 200)
    t.equal((await app.inject({ url: '/api/stats', headers: bearer(key) })).statusCode, 403)
  }
  const ends = await db.selectFrom('api_keys').select(['limit_factor', 'expires_at']).orderBy('created_at').execute()
  const inDays = ends.map(({ expires_at }) => Math.round(((expires_at?.getTime() ?? 0) - Date.now()) / 86_400_000))
  t.same(inDays, [7, 100], 'the successor lives as long as the old one was meant to')
  t.equal(Number(ends[1]?.limit_factor), 3)

  const again = await rotateApiKey(db, successor.slice(4, 16), 0)
  t.ok(again)
  await eventually(
    async () => (await app.inject({ url: '/api/search', headers: bearer(successor) })).statusCode,
    (status) => status === 401,
    6_000,
  ).then((status) => t.equal(status, 401, 'without an overlap it ends at once'))
  t.equal((await app.inject({ url: '/api/search', headers: bearer(again?.key ?? '') })).statusCode, 200)
  t.equal(await rotateApiKey(db, successor.slice(4, 16), 0), null, 'what has ended cannot be rotated')
})

t.test('when a key was used last is shown, and written at most once a minute', async (t) => {
  const { app, db, url } = await testService(t)
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const lastUse = async () => (await db.selectFrom('api_keys').select('last_used_at').executeTakeFirstOrThrow()).last_used_at
  t.equal(await lastUse(), null)
  for (let n = 0; n < 5; n += 1) await app.inject({ url: '/api/search', headers: bearer(key) })
  const first = await eventually(lastUse, (at) => at !== null)
  t.ok(Math.abs((first?.getTime() ?? 0) - Date.now()) < 30_000)
  t.match(runner(url)('list').stdout, new RegExp(String(first?.toISOString().slice(0, 16))))
  await app.inject({ url: '/api/search', headers: bearer(key) })
  await app.close()
  t.same(await lastUse(), first, 'also not when the process ends')
})

t.test('what waits to be written is written when the process ends', async (t) => {
  const { app, db } = await testService(t)
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  await app.inject({ url: '/api/search', headers: bearer(key) })
  await app.close()
  t.ok((await db.selectFrom('api_keys').select('last_used_at').executeTakeFirstOrThrow()).last_used_at)
})

t.test('a key may have limits of its own', async (t) => {
  const { app, db } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 10 } })
  const limitOf = async (limitFactor: number | null) => {
    const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['stats:read'], limitFactor })
    return (await app.inject({ url: '/api/stats', headers: bearer(key) })).headers['ratelimit-limit']
  }
  t.equal(await limitOf(null), '10')
  t.equal(await limitOf(5), '50')
  t.equal(await limitOf(0.01), '1')
})

t.test('S9: guesses of keys are limited per address, and those who have a valid key are not held to it', async (t) => {
  const { app, db } = await testService(t, { config: { CALLER_GUESS_LIMIT_PER_MINUTE: 5 } })
  const valid = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const ask = (key: string, remoteAddress: string, headers = {}) =>
    app.inject({ url: '/api/search', headers: { ...bearer(key), ...headers }, remoteAddress })
  t.equal((await ask(valid, '2001:db8:1:2::1')).statusCode, 200)
  const statuses: number[] = []
  for (let n = 0; n < 16; n += 1) {
    // Another address of the same /64 each time, and another X-Forwarded-For.
    const response = await ask(n % 2 ? unknownKey(n) : 'nonsense', `2001:db8:1:2::${n + 2}`, { 'x-forwarded-for': `198.51.100.${n}` })
    statuses.push(response.statusCode)
    if (response.statusCode === 429) t.ok(Number(response.headers['retry-after']) >= 1)
  }
  t.ok(statuses.filter((status) => status === 429).length >= 6, String(statuses))
  t.equal(statuses[0], 401)
  t.equal((await ask(valid, '2001:db8:1:2::1')).statusCode, 200, 'a neighbour that guesses does not shut out who is known')
  t.equal((await ask(unknownKey(99), '192.0.2.1')).statusCode, 401, 'another address has guesses of its own')
})

t.test('S9: IPv4-mapped addresses are the same address', async (t) => {
  const { app } = await testService(t, { config: { CALLER_GUESS_LIMIT_PER_MINUTE: 3 } })
  const statuses: number[] = []
  for (let n = 0; n < 12; n += 1) {
    const remoteAddress = n % 2 ? '192.0.2.7' : '::ffff:192.0.2.7'
    statuses.push((await app.inject({ url: '/api/stats', headers: bearer(unknownKey(n)), remoteAddress })).statusCode)
  }
  t.ok(statuses.filter((status) => status === 429).length >= 6, String(statuses))
})

t.test('unknown ids cost a bounded number of look-ups at a time, and none when they are asked again', async (t) => {
  const { db } = await testDatabase(t)
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const checker = keyChecker(db)
  const results = await Promise.allSettled(Array.from({ length: 1_000 }, async (_, n) => checker.check(unknownKey(n))))
  const found = results.filter(({ status }) => status === 'fulfilled').length
  t.ok(found >= 1 && found <= 64, `${found} looked up, the others told to come back`)
  const together = await Promise.all(Array.from({ length: 500 }, async () => checker.check(key)))
  t.ok(
    together.every((found) => found?.scopes[0] === 'search:read'),
    'who has a key is served, also when many requests come with it at first',
  )
  t.equal(await checker.check(unknownKey(0)), null)
})

t.test('keys in use go on while PostgreSQL hangs, and a look-up that hangs is given up', async (t) => {
  const { url, db: direct } = await testDatabase(t)
  const wire = await wireTo(t, url)
  const db = openDatabase(wire.url)
  t.teardown(() => db.destroy())
  const key = await createApiKey(direct, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const checker = keyChecker(db)
  t.ok(await checker.check(key))
  wire.hang()
  await sleep(3_100)
  const before = performance.now()
  t.ok(await checker.check(key), 'still believed')
  t.ok(performance.now() - before < 2_500, 'after a second of patience')
  const second = performance.now()
  for (let n = 0; n < 100; n += 1) await checker.check(key)
  t.ok(performance.now() - second < 500, 'which the next ones do not need')
  await t.rejects(async () => checker.check(unknownKey(1)), /does not say/)
  wire.mend()
})

t.test('S1: keys share nothing but their kind', async (t) => {
  const { db } = await testDatabase(t)
  const keys = await Promise.all(
    Array.from({ length: 500 }, () => createApiKey(db, { kind: 'secret', name: 'x', scopes: ['search:read'] })),
  )
  for (const part of [keys.map((key) => key.slice(4, 16)), keys.map((key) => key.slice(17))]) {
    const sorted = part.toSorted()
    t.equal(new Set(sorted).size, 500)
    const shared = sorted.slice(1).map((text, n) => [...text].findIndex((letter, at) => letter !== sorted[n]?.[at]))
    t.ok(Math.max(...shared) <= 7, `${Math.max(...shared)} characters in common at most`)
  }
})
