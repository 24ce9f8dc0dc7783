// What people search for: counted by day, kept only after five callers, shown to few.
// Slow: its searches count after some seconds.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { search } from '../../scripts/search.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { countingPeriod } from '../../src/search-report/query-recorder.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { dayMs, waitForFreshWindow } from '../support/fresh-window.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { runInProcess } from '../support/run-in-process.ts'
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

type Search = [address: string, query: string, key?: string | undefined]

/** So many addresses search for each of these. */
const fromAddresses = (count: number, ...queries: string[]): Search[] =>
  Array.from({ length: count }, (_, n) =>
    queries.map((query): Search => [`10.1.${n}.7`, query]),
  ).flat()

/** Starts the service on this database, sends searches, and stops it, which writes counts. */
async function searchAndStop(
  t: Test,
  database: TestDatabase,
  searches: Search[],
  config: Partial<TestService['config']> = {},
): Promise<{ log: string; redis: string }> {
  const lines: string[] = []
  const service = await testService(t, { database, log: (line) => lines.push(line), config })
  await service.sync()
  for (const [remoteAddress, query, key] of searches)
    await service.app.inject({
      url: `/api/search?${query}`,
      remoteAddress,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    })
  await service.app.close()
  return { log: lines.join('\n'), redis: await dumpRedis(service) }
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

/** Returns each text as "kind text: searches, without a result", and the sums of all days. */
async function readCounts({ db }: TestDatabase): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select kind || ' ' || text || ': ' || sum(searches) || ', ' || sum(without_result) as line
    from search_report_counts group by kind, text
    union all select 'all: ' || sum(searches) || ', ' || sum(without_result)
    from search_report_days having count(*) > 0
  `.execute(db)
  return rows.map(({ line }) => line).sort()
}

t.test('a text that four callers search for appears nowhere, that of five is kept', async (t) => {
  const database = await createDatabase(t)
  // The callers of both runs count in one Redis.
  const config = { REDIS_PREFIX: `test:${randomBytes(6).toString('hex')}:` }
  const typed = ['u', 'ul', 'ult', 'ultrasónico+ñu', 'ultrasónico+ñu', 'taladro', 'taladro']
  const four = fromAddresses(4, ...typed.map((text) => `q=${encodeURI(text)}`))
  const first = await searchAndStop(t, database, four, config)
  const dump = await dumpDatabase(database)
  for (const text of ['ultras', 'ULTRAS', 'taladro', Buffer.from('ultras').toString('hex')])
    for (const place of [dump, first.redis, first.log]) t.notMatch(place, text)
  t.match(first.redis, /search-report}:callers:[0-9a-f]{32}/, 'hashes are there')
  t.same(await readCounts(database), ['all: 8, 4'], 'a caller counts once at a time')

  // After a restart, one more caller.
  const fifth: Search[] = [
    ['10.9.9.9', `q=${encodeURI('ULTRASONICO++ñu')}`],
    ['10.1.0.7', 'q=taladro'],
  ]
  await searchAndStop(t, database, fifth, config)
  t.same(await readCounts(database), [
    'all: 10, 5',
    'query ultrasonico ñu: 5, 5',
    'word ultrasonico: 5, 5',
  ])
})

t.test('one caller adds at most five texts at a time, all callers at most a hundred', async (t) => {
  // On a busy machine the searches would take longer than a period.
  replaceUntilEnd(t, countingPeriod, { ms: 600_000 })
  const letter = (n: number) => String.fromCharCode(97 + n)
  const one = Array.from({ length: 8 }, (_, n): Search => ['10.9.9.9', `q=${letter(n)}z+qz`])
  const others = Array.from(
    { length: 120 },
    (_, n): Search => [`10.1.${n}.7`, `q=${letter(n % 26)}${letter(Math.floor(n / 26))}+qz`],
  )
  const { redis } = await searchAndStop(t, await createDatabase(t), [...one, ...others])
  t.equal(redis.match(/callers:/g)?.length, 100)
})

t.test('a key counts as one caller, and so does a /64 network', async (t) => {
  const database = await createDatabase(t)
  const createKey = (name: string) =>
    createApiKey(database.db, { kind: 'secret', name, scopes: ['search:read'] })
  const keys = await Promise.all(['A', 'B', 'C', 'D', 'E'].map(createKey))
  await searchAndStop(t, database, [
    ...fromAddresses(6, 'q=one+key').map(([address, query]): Search => [address, query, keys[0]]),
    ...keys.map((key): Search => ['10.1.0.7', 'q=qz+keys', key]),
    ...[1, 2, 3, 4, 5].flatMap((n): Search[] => [
      [`2001:db8:1:1::${n}`, 'q=one+network'],
      [`2001:db8:1:${n}::1`, 'q=five+networks'],
    ]),
  ])
  t.same(
    (await readCounts(database)).map((line) => line.split(':')[0]),
    ['all', 'query five networks', 'query qz keys', 'word five', 'word keys', 'word networks'],
  )
})

for (const [claim, queries, config] of [
  [
    'personal data, later pages, filters and look-ups are not counted',
    ['ana@example.com', '600+123+456', 'paged&offset=8', 'filtered&category=Tools', ''],
    {},
  ],
  ['responses of PostgreSQL are not counted', ['degraded'], withoutEngine],
  ['SEARCH_REPORT=false counts nothing', ['taladro'], { SEARCH_REPORT: false }],
] as const)
  t.test(claim, async (t) => {
    const database = await createDatabase(t)
    const searches = fromAddresses(6, 'sku=A-1', ...queries.map((query) => `q=${query}`))
    await searchAndStop(t, database, searches, config)
    t.same(await readCounts(database), [])
  })

t.test('shows the report to keys with stats:detail, and on the command line', async (t) => {
  const database = await createDatabase(t)
  // The report of one day must contain the searches of this test.
  await waitForFreshWindow(dayMs, 60_000)
  await searchAndStop(t, database, [
    ...fromAddresses(6, 'q=taladro', 'q=cmd+zzz'),
    ...fromAddresses(7, 'q=mastillo'),
  ])
  const withPages = { WEB_PARTS: ['dashboard'] } satisfies Partial<TestService['config']>
  const off = await testService(t, { database, config: { ...withPages, SEARCH_REPORT: false } })
  t.equal((await off.app.inject('/dashboard/searches')).statusCode, 404, 'SEARCH_REPORT=false')
  const { app } = await testService(t, { database, config: withPages })
  const read = async (scopes: ('stats:read' | 'stats:detail')[], query = '') => {
    const key = await createApiKey(database.db, { kind: 'secret', name: 'x', scopes })
    return app.inject({
      url: `/dashboard/searches${query}`,
      headers: { authorization: `Bearer ${key}` },
    })
  }
  t.equal((await app.inject('/dashboard/searches')).statusCode, 401, 'without a key')
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
      { text: 'cmd zzz', searches: 6 },
      { text: 'taladro', searches: 6, withoutResult: 0 },
    ],
    unsuccessful: [{ text: 'cmd zzz', withoutResult: 6 }],
    unknownWords: [{ text: 'mastillo', searches: 7 }, { text: 'cmd' }, { text: 'zzz' }],
  })
  for (const query of ['?days=0', '?days=91', '?days=x', '?day=1'])
    t.equal((await read(['stats:read', 'stats:detail'], query)).statusCode, 400, query)

  const script = (...args: string[]) =>
    runInProcess(search, args, { env: { DATABASE_URL: database.url } })
  const table = (await script('report')).stdout
  t.match(table, /19 searches, 6 without a result \(31\.6 %\)\./)
  t.match(table, /Words that no product has:\nsearches +without result +text\n7 +7 +mastillo\n/)
  t.match(await script('report', '--days', '91'), { status: 2, stderr: /--days 91 is not/ })
  const unknown = /Unknown command list: use one of report/
  t.match(await script('list'), { status: 2, stderr: unknown })
})

t.test('deletes old counts, which the API cannot', async (t) => {
  const database = await createDatabase(t)
  await sql`
    insert into search_report_days
      select current_date - age, 1, 0 from (values (91), (88)) as days (age)
  `.execute(database.db)
  await sql`
    insert into search_report_counts
      select 'query', 'text of ' || age, current_date - age, 1, 0
      from (values (91), (88)) as days (age)
  `.execute(database.db)
  const run = async (url: string, statement: string) => {
    const db = openDatabase(url, { connections: 1 })
    await sql
      .raw(statement)
      .execute(db)
      .finally(() => db.destroy())
  }
  await run(database.roles.indexer, 'select purge_search_report()')
  t.same(await readCounts(database), ['all: 1, 0', 'query text of 88: 1, 0'])
  for (const statement of [
    'delete from search_report_counts',
    'truncate search_report_days',
    'select purge_search_report()',
  ])
    await t.rejects(run(database.roles.api, statement), { code: '42501' }, statement)
})

t.test('counts a query once that is typed on two processes', async (t) => {
  const database = await createDatabase(t)
  const service = await testService(t, { database, config: { TRUST_PROXY: ['127.0.0.1'] } })
  await service.sync()
  const apis = [
    await startApi(t, service, withLongerTimeouts),
    await startApi(t, service, withLongerTimeouts),
  ]
  const beginnings = [...'taladro'].map((_, end) => `q=${'taladro'.slice(0, end + 1)}`)
  for (const [n, [address, query]] of fromAddresses(6, ...beginnings).entries()) {
    const headers = { 'x-forwarded-for': address }
    await (await fetch(`${apis[n % 2]?.url}/api/search?${query}`, { headers })).arrayBuffer()
  }
  const expected = ['all: 6, 0', 'query taladro: 6, 0']
  // Each process writes what it has counted.
  const isWritten = (lines: string[]) => String(lines) === String(expected)
  t.same(await eventually(() => readCounts(database), isWritten, 60_000), expected)
  for (const { child, exit } of apis) {
    child.kill('SIGTERM')
    await exit
  }
  t.same(await readCounts(database), expected, 'also when the processes have stopped')
  t.notMatch(await dumpRedis(service), 'tala')
})
