// API keys: creation, list, rotation, revocation, last use and rate limits.
import { sql } from 'kysely'
import t from 'tap'
import { apiKey } from '../../scripts/api-key.ts'
import { ApiKeyUsage } from '../../src/auth/api-key-usage.ts'
import { rotateApiKey } from '../../src/auth/api-keys.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { dayMs, waitForFreshWindow } from '../support/fresh-window.ts'
import { idOf } from '../support/key-parts.ts'
import { runInProcess } from '../support/run-in-process.ts'
import { bearer, createSecretKey, statusOf } from '../support/secret-keys.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'
import { collectLines, silentLog } from '../support/task-logs.ts'

lengthenTimeouts(t)

/** Returns a function that runs scripts/api-key.ts on the database. */
const createRunner = (url: string) => (commandLine: string) =>
  runInProcess(apiKey, commandLine.split(' '), { env: { DATABASE_URL: url } })

t.test('scripts/api-key.ts creates a valid key, and explains invalid scopes', async (t) => {
  const { app, url } = await testService(t, { index: false })
  const run = createRunner(url)
  const created = await run('create --name Dashboard --scopes stats:read --expires 30d')
  t.equal(created.status, 0, created.stderr)
  t.equal(await statusOf(app, '/api/stats', created.stdout.trim()), 200)
  t.match(await run('create --name x --scopes stats:write'), {
    status: 2,
    stderr: /stats:write/,
  })
  t.match(await run('create --scopes stats:read'), { status: 2, stderr: /--name/ })
  t.match(await run('create --name x --scopes stats:detail'), {
    status: 2,
    stderr: /use --scopes stats:read,stats:detail/,
  })
  t.match(await run('create --name x --scopes stats:read,stats:detail'), { status: 0 })
  t.match(await run('creat'), { status: 2, stderr: /--help/ })
  t.match(await run('--help'), { status: 0, stdout: /Usage/ })
})

t.test('scripts/api-key.ts creates and lists both kinds, and rejects unsafe options', async (t) => {
  const { app, db, url } = await testService(t, { config: { ANONYMOUS_SCOPES: [] }, index: false })
  const run = createRunner(url)
  t.match(await run('list'), { status: 0, stdout: /There is no key/ })
  const created = await run(
    'create --name Shop --kind publishable --limits 2.5x ' +
      '--origins https://Shop.example/,http://localhost:8080',
  )
  t.equal(created.status, 0, created.stderr)
  const key = created.stdout.trim()
  t.match(key, /^tqp_[0-9a-z]{12}_[\w-]{43}$/)
  t.equal(
    (
      await app.inject({
        url: `/api/search?key=${key}`,
        headers: { origin: 'https://shop.example' },
      })
    ).statusCode,
    200,
  )
  const secret = (
    await run('create --name ERP --scopes stats:read --expires 30d --limits none')
  ).stdout.trim()
  const { stdout } = await run('list')
  t.match(stdout, /^id +kind +name/)
  const rights = 'search:read https://shop.example http://localhost:8080'
  t.match(stdout, new RegExp(`${idOf(key)} +publishable +Shop +${rights} +2.5x .* never +valid`))
  t.match(stdout, new RegExp(`${idOf(secret)} +secret +ERP +stats:read +none .* never +ends 20`))
  t.notMatch(stdout, /[\w-]{43}/, 'no secret')

  await run(`revoke ${key}`)
  t.notMatch((await run('list')).stdout, idOf(key))
  t.match((await run('list --all')).stdout, /revoked 20/)
  const rejectedCommands: [commandLine: string, message: RegExp][] = [
    ['toString', /Unknown command toString: use one of create, list, report, rotate, revoke/],
    [
      'create --name x --scopes stats:read --unlimited --limits 0.5x',
      /Use --limits or --unlimited, not both/,
    ],
    ['create --name x --kind publishable', /--origins/],
    ['create --name x --kind publishable --origins *', /not an origin/],
    [
      'create --name x --kind publishable --origins https://a.example --scopes stats:read',
      /search:read and no other/,
    ],
    [
      'create --name x --scopes search:read --origins https://a.example',
      /must not be in a web page/,
    ],
    ['create --name x --scopes search:read --limits 0x', /--limits/],
    ['create --name x --kind root --scopes search:read', /no kind/],
    ['revoke', /Which key/],
    ['revoke nonsense', /12 letters/],
    [`rotate ${idOf(key)} --overlap soon`, /--overlap/],
    ['list more', /more/],
  ]
  await Promise.all(
    rejectedCommands.map(async ([commandLine, message]) => {
      t.match(await run(commandLine), { status: 2, stderr: message }, commandLine)
    }),
  )
  t.match(await run(`rotate ${key}`), { status: 1, stderr: /no valid key/ })
  t.match(await run(`revoke ${key}`), { status: 1, stderr: /no key/ })
  t.equal(
    (await db.selectFrom('api_keys').select('id').execute()).length,
    2,
    'the rejected commands created no key',
  )
})

t.test('rotates a key: both keys have the same rights until the old one expires', async (t) => {
  const { app, db, url } = await testService(t, { index: false })
  const expiresAt = new Date(Date.now() + 100 * dayMs)
  const old = await createSecretKey(db, { limitFactor: 3, expiresAt })
  const rotated = await createRunner(url)(`rotate ${idOf(old)}`)
  t.equal(rotated.status, 0, rotated.stderr)
  const [, successorEnd] = /Its successor, which expires at (\S+):/.exec(rotated.stderr) ?? []
  const successor = rotated.stdout.trim()
  for (const key of [old, successor]) {
    t.equal(await statusOf(app, '/api/search', key), 200)
    t.equal(await statusOf(app, '/api/stats', key), 403)
  }
  const storedKeys = await db
    .selectFrom('api_keys')
    .select(['limit_factor', 'expires_at'])
    .orderBy('created_at')
    .execute()
  const lifetimesInDays = storedKeys.map(({ expires_at }) =>
    Math.round(((expires_at?.getTime() ?? 0) - Date.now()) / dayMs),
  )
  t.same(lifetimesInDays, [7, 100], 'the successor has the lifetime of the old key')
  t.equal(successorEnd, storedKeys[1]?.expires_at?.toISOString())
  t.equal(Number(storedKeys[1]?.limit_factor), 3)

  const rotatedAgain = await rotateApiKey(db, idOf(successor), 0)
  t.ok(rotatedAgain)
  await eventually(
    () => statusOf(app, '/api/search', successor),
    (status) => status === 401,
  ).then((status) => t.equal(status, 401, 'without an overlap the old key expires at once'))
  t.equal(await statusOf(app, '/api/search', rotatedAgain?.key ?? ''), 200)
  t.equal(await rotateApiKey(db, idOf(successor), 0), null, 'an expired key cannot be rotated')
})

t.test('does not rotate a key twice', async (t) => {
  const { db, url } = await testDatabase(t)
  const run = createRunner(url)
  const old = await createSecretKey(db)
  const rotated = await run(`rotate ${idOf(old)}`)
  t.equal(rotated.status, 0, rotated.stderr)
  t.match(rotated.stderr, /Its successor, which never expires:/)
  const successorId = idOf(rotated.stdout.trim())
  const advice = new RegExp(
    `${successorId} is its successor.*revoke ${successorId}.*--expires`,
    's',
  )
  t.match(await run(`rotate ${idOf(old)}`), { status: 1, stdout: '', stderr: advice })
  await run(`revoke ${successorId}`)
  t.match(
    await run(`rotate ${idOf(old)}`),
    { status: 1, stderr: advice },
    'also once that is revoked',
  )
  t.equal((await db.selectFrom('api_keys').select('id').execute()).length, 2)
})

t.test('rotates keys of the same name, and never extends the life of an old key', async (t) => {
  const { db } = await testDatabase(t)
  const expiresAt = new Date(Date.now() + 3 * dayMs)
  const keys = [await createSecretKey(db, { expiresAt }), await createSecretKey(db, { expiresAt })]
  for (const key of keys) t.same((await rotateApiKey(db, idOf(key), 7))?.oldEndsAt, expiresAt)
})

t.test('a key that expires at infinity is valid, listed, and can be rotated', async (t) => {
  const { app, db, url } = await testService(t, { index: false })
  const endless = await createSecretKey(db)
  const ended = await createSecretKey(db)
  await sql`update api_keys set expires_at = 'infinity' where id = ${idOf(endless)}`.execute(db)
  await sql`update api_keys set expires_at = '-infinity' where id = ${idOf(ended)}`.execute(db)
  t.equal(await statusOf(app, '/api/search', endless), 200)
  t.equal(await statusOf(app, '/api/search', ended), 401)
  const listed = await createRunner(url)('list --all')
  t.match(listed.stdout, new RegExp(`${idOf(endless)} .+ valid$`, 'm'), listed.stderr)
  t.match(listed.stdout, new RegExp(`${idOf(ended)} .+ expired$`, 'm'), listed.stderr)
  const rotated = await rotateApiKey(db, idOf(endless), 7)
  t.equal(rotated?.endsAt, null)
  t.equal(await statusOf(app, '/api/search', rotated?.key ?? ''), 200)
})

t.test('lists when a key was last used, also after the app has closed', async (t) => {
  const { app, db, url } = await testService(t, { index: false })
  const key = await createSecretKey(db)
  t.match((await createRunner(url)('list')).stdout, / never +valid/)
  t.equal(await statusOf(app, '/api/stats', key), 403)
  await app.inject({ url: '/api/search', headers: bearer(key) })
  await app.close()
  const [used] = await db.selectFrom('api_key_usage').select('last_used_at').execute()
  t.ok(Math.abs((used?.last_used_at?.getTime() ?? 0) - Date.now()) < 30_000)
  const minute = used?.last_used_at?.toISOString().slice(0, 16)
  t.match((await createRunner(url)('list')).stdout, new RegExp(`${minute}Z +valid`))
})

t.test('applies the rate limits of a key', async (t) => {
  const { app, db } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 10 }, index: false })
  const limitOf = async (limitFactor: number | null) => {
    const key = await createSecretKey(db, { scopes: ['stats:read'], limitFactor })
    return (await app.inject({ url: '/api/stats', headers: bearer(key) })).headers[
      'ratelimit-limit'
    ]
  }
  t.equal(await limitOf(null), '10')
  t.equal(await limitOf(5), '50')
  t.equal(await limitOf(0.01), '1')
})

t.test(
  'a failed write of the use of keys is logged once, and its counts are written again',
  async (t) => {
    const { db } = await testDatabase(t)
    const id = idOf(await createSecretKey(db))
    const { lines, log } = collectLines()
    const usage = new ApiKeyUsage(db, log)
    t.teardown(() => usage.stop())
    await db.schema.alterTable('api_key_usage').renameTo('missing').execute()
    for (const _ of [1, 2]) {
      usage.recordCall(id, 200, true)
      await usage.writePending()
    }
    t.match(lines, [/cannot be recorded \(relation "api_key_usage" does not exist\)/])
    t.equal(lines.length, 1)
    await db.schema.alterTable('missing').renameTo('api_key_usage').execute()
    await usage.writePending()
    const { calls } = await db.selectFrom('api_key_usage').select('calls').executeTakeFirstOrThrow()
    t.equal(Number(calls), 2, 'no call is lost')
    t.match(lines.slice(1), ['info: The use of API keys can be recorded again'])
    t.equal(lines.length, 2)
  },
)

t.test('logs at the end how many requests were not recorded', async (t) => {
  const { db } = await testDatabase(t)
  const id = idOf(await createSecretKey(db))
  const { lines, log } = collectLines()
  const usage = new ApiKeyUsage(db, log)
  await db.schema.alterTable('api_key_usage').renameTo('missing').execute()
  usage.recordCall(id, 200, true)
  usage.recordCall(id, 200, true)
  usage.recordWrongSecret(id)
  await usage.stop()
  t.match(lines, [
    /cannot be recorded/,
    /^error: 3 requests with an API key will never be in the report .+ because the process stops$/,
  ])
})

t.test('the report lists the requests and refusals of each key by day', async (t) => {
  const { db, url } = await testDatabase(t)
  const key = await createSecretKey(db, { scopes: ['stats:read'] })
  const id = idOf(key)
  const usage = new ApiKeyUsage(db, silentLog)
  t.teardown(() => usage.stop())
  // The report counts its days from the current one.
  await waitForFreshWindow(dayMs, 60_000)
  const today = Date.now()
  const yesterday = today - dayMs
  for (const [status, day] of [
    [200, today],
    [304, today],
    [429, today],
    [403, yesterday],
  ] as const)
    usage.recordCall(id, status, true, day)
  usage.recordCall('000000000000', 200, true, today)
  usage.recordWrongSecret(id, today)
  usage.recordWrongSecret(id, today)
  await usage.writePending()
  const run = createRunner(url)
  const report = (options = '') => run(`report${options}`)
  const format = (day: number) => new Date(day).toISOString().slice(0, 10)
  const text = (day: number, calls: number, refusals: number, wrong: number) =>
    new RegExp(`${format(day)} +${id} +ERP +${calls} +${refusals} +${wrong}`)
  const both = await report()
  t.match(both.stdout, text(today, 3, 1, 2), both.stderr)
  t.match(both.stdout, text(yesterday, 1, 1, 0))
  const latest = await report(' --days 1')
  t.match(latest.stdout, text(today, 3, 1, 2))
  t.notMatch(latest.stdout, format(yesterday))
  t.match(await report(' --days x'), { status: 2, stderr: /--days/ })
})
