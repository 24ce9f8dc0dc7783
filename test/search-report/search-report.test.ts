// What people search for: counted by day, kept only after five callers, shown to few.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { dayMs, waitForFreshWindow } from '../support/fresh-window.ts'
import { lengthenTimeouts, withLongerTimeouts } from '../support/service/longer-timeouts.ts'
import {
  startApi,
  type TestService,
  testService,
  withoutEngine,
} from '../support/service/test-service.ts'

lengthenTimeouts(t)
// One test mostly waits, and each has its own database.
t.jobs = 2

const run = promisify(execFile)

/** Starts the service on this database, lets callers search, and stops it, which writes counts. */
async function searchAndStop(
  t: Test,
  database: TestDatabase,
  search: (
    type: (address: string, text: string) => Promise<unknown>,
    service: TestService,
  ) => Promise<unknown>,
  config: Partial<TestService['config']> = {},
): Promise<{ log: string; redis: string }> {
  const lines: string[] = []
  const service = await testService(t, { database, log: (line) => lines.push(line), config })
  await service.sync()
  const type = (remoteAddress: string, text: string) =>
    service.app.inject({ url: `/api/search?q=${encodeURIComponent(text)}`, remoteAddress })
  await search(type, service)
  await service.app.close()
  const redis = await dumpRedis(service)
  return { log: lines.join('\n'), redis }
}

async function dumpRedis({ redis, config }: TestService): Promise<string> {
  const keys = await redis.keys(`${config.REDIS_PREFIX}*`)
  const values = await Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key)
      if (type === 'set') return redis.smembers(key)
      return type === 'string' ? redis.get(key) : redis.dump(key)
    }),
  )
  return JSON.stringify([keys, values])
}

/** Every row of every table, as text. */
async function dumpDatabase({ db }: TestDatabase): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables
    where schemaname = 'public' and tablename not in ('products', 'product_words')
  `.execute(db)
  const dumps = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await sql`select t::text from ${sql.id(name)} t`.execute(db)
      return `${name} ${JSON.stringify(rows)}`
    }),
  )
  return dumps.join('\n')
}

const addresses = (count: number) => Array.from({ length: count }, (_, n) => `10.1.${n}.7`)

async function createDatabase(t: Test): Promise<TestDatabase> {
  const database = await testDatabase(t)
  await database.db
    .insertInto('products')
    .values([
      { sku: 'A-1', name: 'Taladro percutor' },
      { sku: 'A-2', name: 'Martillo de bola', category: 'Tools' },
    ])
    .execute()
  return database
}

const readTexts = ({ db }: TestDatabase) =>
  sql<{ kind: string; text: string; searches: number; empty: number }>`
    select kind, text, sum(searches)::int as searches, sum(without_result)::int as empty
    from search_report_counts group by kind, text order by kind, text
  `
    .execute(db)
    .then(({ rows }) => rows)

t.test('a text that four callers search for appears nowhere, that of five is kept', async (t) => {
  const database = await createDatabase(t)
  // The callers of both runs count in one Redis.
  const config = { REDIS_PREFIX: `test:${randomBytes(6).toString('hex')}:` }
  const first = await searchAndStop(
    t,
    database,
    async (type) => {
      for (const address of addresses(4)) {
        for (const text of ['u', 'ul', 'ult', 'ultrasónico ñu', 'ultrasónico ñu'])
          await type(address, text)
        for (let n = 0; n < 5; n++) await type(address, 'taladro')
      }
    },
    config,
  )
  const dump = await dumpDatabase(database)
  for (const text of ['ultras', 'ULTRAS', 'taladro', Buffer.from('ultras').toString('hex')]) {
    t.notMatch(dump, text, 'PostgreSQL')
    t.notMatch(first.redis, text, 'Redis')
    t.notMatch(first.log, text, 'log')
  }
  t.match(first.redis, /search-report}:callers:[0-9a-f]{32}/, 'hashes are there')
  t.same(await readTexts(database), [])

  // After a restart, one more caller.
  await searchAndStop(
    t,
    database,
    async (type) => {
      await type('10.9.9.9', 'ULTRASONICO  ñu')
      await type(addresses(1)[0] ?? '', 'taladro')
    },
    config,
  )
  t.same(await readTexts(database), [
    { kind: 'query', text: 'ultrasonico ñu', searches: 5, empty: 5 },
    { kind: 'word', text: 'ultrasonico', searches: 5, empty: 5 },
  ])
  const { rows } = await sql`
    select searches, without_result from search_report_days
  `.execute(database.db)
  t.same(rows, [{ searches: '10', without_result: '5' }], 'a caller counts once at a time')
})

t.test('one caller adds at most five texts at a time, all callers at most a hundred', async (t) => {
  const database = await createDatabase(t)
  const { redis } = await searchAndStop(t, database, async (type) => {
    const letter = (n: number) => String.fromCharCode(97 + n)
    for (let n = 0; n < 8; n++) await type('10.9.9.9', `${letter(n)}z qz`)
    for (const [n, address] of addresses(120).entries())
      await type(address, `${letter(n % 26)}${letter(Math.floor(n / 26))} qz`)
  })
  t.equal(redis.match(/callers:/g)?.length, 100)
})

t.test('the same key or network counts as one caller', async (t) => {
  const database = await createDatabase(t)
  const createKey = (name: string) =>
    createApiKey(database.db, { kind: 'secret', name, scopes: ['search:read'] })
  const keys = await Promise.all(['A', 'B', 'C', 'D', 'E'].map(createKey))
  await searchAndStop(t, database, async (type, { app }) => {
    const searchWithKey = (text: string, key = keys[0], remoteAddress = '10.1.0.7') =>
      app.inject({
        url: `/api/search?q=${text}`,
        remoteAddress,
        headers: { authorization: `Bearer ${key}` },
      })
    for (const address of addresses(6)) await searchWithKey('one+key', keys[0], address)
    for (const key of keys) await searchWithKey('qz+keys', key)
    for (let n = 1; n < 7; n++) await type(`2001:db8:1:1::${n}`, 'one network')
    for (let n = 1; n < 6; n++) await type(`2001:db8:1:${n}::1`, 'five networks')
  })
  t.match(await readTexts(database), [
    { kind: 'query', text: 'five networks' },
    { kind: 'query', text: 'qz keys' },
    { kind: 'word', text: 'five' },
    { kind: 'word', text: 'keys' },
    { kind: 'word', text: 'networks' },
  ])
})

t.test('counts no personal data, later pages, filters, or responses of PostgreSQL', async (t) => {
  const database = await createDatabase(t)
  const urls = ['q=ana@example.com', 'q=600+123+456', 'q=paged&offset=8', 'sku=A-1', '']
  urls.push('q=filtered&category=Tools')
  const search: Parameters<typeof searchAndStop>[2] = async (_type, { app }) => {
    for (const remoteAddress of addresses(6))
      for (const url of urls) await app.inject({ url: `/api/search?${url}`, remoteAddress })
  }
  await searchAndStop(t, database, search)
  urls.splice(0, urls.length, 'q=degraded')
  await searchAndStop(t, database, search, withoutEngine)
  urls.splice(0, urls.length, 'q=taladro')
  await searchAndStop(
    t,
    database,
    async (type, service) => {
      await search(type, service)
      t.equal((await service.app.inject('/dashboard/searches')).statusCode, 404)
    },
    { SEARCH_REPORT: false, WEB_PARTS: ['dashboard'] },
  )
  t.same(await readTexts(database), [])
  const { rows } = await sql`select * from search_report_days`.execute(database.db)
  t.same(rows, [])
})

t.test('shows the report to keys with stats:detail, and on the command line', async (t) => {
  const database = await createDatabase(t)
  // The report of one day must contain the searches of this test.
  await waitForFreshWindow(dayMs, 60_000)
  await searchAndStop(t, database, async (type) => {
    for (const address of addresses(6)) {
      await type(address, 'taladro')
      await type(address, '=cmd zzz')
    }
    for (const address of addresses(7)) await type(address, 'mastillo')
  })
  const service = await testService(t, { database, config: { WEB_PARTS: ['dashboard'] } })
  const read = async (scopes: ('stats:read' | 'stats:detail')[], query = '') => {
    const key = await createApiKey(database.db, { kind: 'secret', name: 'x', scopes })
    return service.app.inject({
      url: `/dashboard/searches${query}`,
      headers: { authorization: `Bearer ${key}` },
    })
  }
  t.equal((await service.app.inject('/dashboard/searches')).statusCode, 401, 'without a key')
  const insufficient = await read(['stats:read'])
  t.equal(insufficient.statusCode, 403)
  t.notMatch(insufficient.body, 'taladro')
  const { headers, ...response } = await read(['stats:read', 'stats:detail'], '?days=7')
  t.equal(headers['cache-control'], 'private, no-store')
  t.match(response.json(), {
    days: 7,
    searches: 19,
    withoutResult: 6,
    frequent: [
      { text: 'mastillo', searches: 7, withoutResult: 0 },
      { text: '=cmd zzz', searches: 6 },
      { text: 'taladro', searches: 6, withoutResult: 0 },
    ],
    unsuccessful: [{ text: '=cmd zzz', withoutResult: 6 }],
    unknownWords: [{ text: 'mastillo', searches: 7 }, { text: 'cmd' }, { text: 'zzz' }],
  })
  for (const query of ['?days=0', '?days=91', '?days=x', '?day=1'])
    t.equal((await read(['stats:read', 'stats:detail'], query)).statusCode, 400, query)

  const script = (...args: string[]) =>
    run(process.execPath, ['scripts/search.ts', ...args], {
      env: { ...process.env, DATABASE_URL: database.url },
    })
  const table = (await script('report')).stdout
  t.match(table, /19 searches, 6 without a result \(31\.6 %\)\./)
  t.match(table, /Words that no product has:\nsearches +without result +text\n7 +7 +mastillo\n/)
  await t.rejects(script('report', '--days', '91'), { message: /--days 91 is not/ })
  await t.rejects(script('list'), { message: /Unknown command list: use one of report/ })
})

t.test('deletes old counts, which the API cannot', async (t) => {
  const database = await createDatabase(t)
  const { db, roles } = database
  for (const [text, age] of [
    ['old', 91],
    ['kept', 88],
  ] as const) {
    await sql`
      insert into search_report_counts (day, kind, text, searches, without_result)
      values (current_date - ${age}::int, 'query', ${text}, 1, 0)
    `.execute(db)
    await sql`
      insert into search_report_days values (current_date - ${age}::int, 1, 0)
    `.execute(db)
  }
  const indexer = openDatabase(roles.indexer, { connections: 1 })
  t.teardown(() => indexer.destroy())
  await sql`select purge_search_report()`.execute(indexer)
  t.match(await readTexts(database), [{ text: 'kept' }])
  const days = await sql<{ n: number }>`
    select count(*)::int as n from search_report_days
  `.execute(db)
  t.same(days.rows, [{ n: 1 }], 'days are kept for 90 days')
  const api = openDatabase(roles.api, { connections: 1 })
  t.teardown(() => api.destroy())
  for (const statement of [
    'delete from search_report_counts',
    'truncate search_report_days',
    'select purge_search_report()',
  ])
    await t.rejects(sql.raw(statement).execute(api), { code: '42501' }, statement)
})

t.test('counts a query once that is typed on two processes', async (t) => {
  const database = await createDatabase(t)
  const service = await testService(t, { database, config: { TRUST_PROXY: ['127.0.0.1'] } })
  await service.sync()
  const apis = [
    await startApi(t, service, withLongerTimeouts),
    await startApi(t, service, withLongerTimeouts),
  ]
  const search = (api: number, address: string, text: string) =>
    fetch(`${apis[api]?.url}/api/search?q=${encodeURIComponent(text)}`, {
      headers: { 'x-forwarded-for': address },
    }).then((response) => response.arrayBuffer())
  const word = 'taladro'
  for (const address of addresses(6))
    for (let end = 1; end <= word.length; end++) await search(end % 2, address, word.slice(0, end))
  const texts = await eventually(
    () => readTexts(database),
    (texts) => texts.length > 0,
    60_000,
  )
  t.same(texts, [{ kind: 'query', text: 'taladro', searches: 6, empty: 0 }])
  for (const { child, exit } of apis) {
    child.kill('SIGTERM')
    await exit
  }
  t.same((await readTexts(database)).length, 1, 'also when the processes have stopped')
  t.notMatch(await dumpRedis(service), 'tala')
})
