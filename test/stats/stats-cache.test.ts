// How answers of /api/stats are kept: fresh within two seconds, honest when they are not, and never at the mercy of Redis.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { foldBatch } from '../../src/stats/summary/fold-deltas.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import {
  company,
  eventually,
  servers,
  startProgram,
  type TestService,
  testDatabase,
  testService,
} from '../support/test-service.ts'
import { dayAfter, quote, type Stats } from './expected-stats.ts'

// Much of it is waiting for time to pass, and each has a database of its own.
t.jobs = 4

const insert = (db: Database, number: string) =>
  db
    .insertInto('quotes')
    .values({ ...quote(number, {}), tax: '0', gross: '100.00' })
    .execute()

async function ask({ app }: Pick<TestService, 'app'>, query = '') {
  const response = await app.inject(`/api/stats${query}`)
  return {
    status: response.statusCode,
    total: response.statusCode === 200 ? response.json<Stats>().quotes.total : null,
    how: String(response.headers['cache-status']),
    age: Number(response.headers.age),
    response,
  }
}

/** Until the answer that was just given is in Redis, which nobody waits for. */
const told = ({ redis, config }: TestService) =>
  eventually(
    () => redis.keys(`${config.REDIS_PREFIX}stats:*`),
    (keys) => keys.length > 0,
  )

/** A service whose PostgreSQL is behind a faulty proxy. `db` connects directly. */
async function serviceBehindFaultyProxy(t: Test, options: Parameters<typeof testService>[1] = {}) {
  const database = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, database.roles.api)
  return {
    ...(await testService(t, { ...options, database, apiUrl: faultyProxy.url })),
    faultyProxy,
  }
}

t.test('an answer is computed once, then a hit, and shared with other instances', async (t) => {
  const first = await testService(t)
  await insert(first.db, '1')
  t.match(await ask(first), { total: 1, how: 'stats; fwd=miss', age: 0 })
  t.match(await ask(first), { total: 1, how: 'stats; hit', age: 0 })
  await told(first)
  const other = await testService(t, {
    database: first,
    config: { REDIS_PREFIX: first.config.REDIS_PREFIX },
  })
  t.match(await ask(other), { total: 1, how: 'stats; hit; detail=shared', age: 0 })
  t.match(await ask(other), { total: 1, how: 'stats; hit', age: 0 })
  await sleep(2_500)
  t.match(
    await ask(first),
    { how: 'stats; hit', age: 0 },
    'as long as nothing changes it stays current',
  )
})

t.test('the key holds everything that the answer depends on', async (t) => {
  const service = await testService(t)
  await insert(service.db, '1')
  const queries = [
    '',
    '?date=accepted',
    '?country=ES',
    '?country=unknown',
    '?from=2026-01-01',
    '?to=2026-12-31',
    '?compare=previous_year',
  ]
  for (const query of queries) t.match(await ask(service, query), { how: 'stats; fwd=miss' }, query)
  for (const query of queries) t.match(await ask(service, query), { how: 'stats; hit' }, query)
  t.match(await ask(service, '?date=issued&locale=es'), { how: 'stats; hit' }, 'and nothing else')
})

t.test('after midnight nothing of yesterday is given as current', async (t) => {
  let now = new Date('2026-11-21T22:59:59Z')
  const service = await serviceBehindFaultyProxy(t, { clock: () => now })
  await service.db
    .insertInto('quotes')
    .values({
      ...quote('1', { status: 'sent', decided_on: null, valid_until: '2026-11-21' }),
      tax: '0',
      gross: '100.00',
    })
    .execute()
  const sent = async () => (await ask(service)).response.json<Stats>().quotes.byStatus.sent
  t.equal(await sent(), 1)
  now = new Date('2026-11-21T23:00:00Z')
  t.equal(await sent(), 0, 'midnight in Madrid')
  service.faultyProxy.refuseConnections()
  now = new Date('2026-11-22T23:00:00Z')
  t.match(await ask(service), { status: 200, how: /fwd=stale/ })
})

t.test('nothing from before a copy of the database was restored is given as current', async (t) => {
  const service = await testService(t)
  const { db, config } = service
  const tables = ['quotes', 'quote_deltas', 'quote_figures', 'quote_validity', 'quote_summary']
  await insert(db, '1')
  await foldBatch(db)
  for (const table of tables)
    await sql.raw(`create table copy_of_${table} as select * from ${table}`).execute(db)
  await insert(db, '2')
  t.equal((await ask(service)).total, 2)
  await told(service)
  // As pg_restore --clean does it: the table is made anew, and no trigger counts what comes back.
  await db.transaction().execute(async (transaction) => {
    const run = (text: string) => sql.raw(text).execute(transaction)
    await run('set local session_replication_role = replica')
    for (const table of tables) await run(`delete from ${table}`)
    await run('create table restored (like quote_summary including all)')
    await run('drop table quote_summary')
    await run('alter table restored rename to quote_summary')
    await run('grant select on quote_summary to public')
    for (const table of tables)
      await run(`insert into ${table} overriding system value select * from copy_of_${table}`)
  })
  await sleep(2_000)
  t.match(await ask(service), { total: 1 })
  const other = await testService(t, {
    database: service,
    config: { REDIS_PREFIX: config.REDIS_PREFIX },
  })
  t.match(await ask(other), { total: 1 }, 'not from Redis either')
})

t.test(
  'a committed change shows in every instance within two seconds, and nobody waits for it meanwhile',
  async (t) => {
    const first = await testService(t)
    const other = await testService(t, {
      database: first,
      config: { REDIS_PREFIX: first.config.REDIS_PREFIX },
    })
    for (const service of [first, other]) t.equal((await ask(service)).total, 0)
    await insert(first.db, '1')
    await sleep(2_000)
    for (const service of [first, other]) t.match(await ask(service), { status: 200, total: 1 })
  },
)

t.test(
  'while an answer is within its bound nobody waits for the refresh; beyond it the answer says its age',
  async (t) => {
    const service = await testService(t)
    await insert(service.db, '1')
    t.equal((await ask(service)).total, 1)
    const client = await service.pool.connect()
    try {
      // Figures cannot be computed as long as this is open.
      await client.query('begin; lock table quote_figures in access exclusive mode')
      await insert(service.db, '2')
      t.match(await ask(service), { total: 1, how: 'stats; hit' })
      const late = await eventually(
        () => ask(service),
        ({ how }) => how !== 'stats; hit',
      )
      t.match(late, { status: 200, total: 1, how: /^stats; fwd=stale/ })
      t.ok(late.age >= 2, `Age: ${late.age}`)
    } finally {
      await client.query('rollback')
      client.release()
    }
    const fresh = await eventually(
      () => ask(service),
      ({ total }) => total === 2,
    )
    t.match(fresh, { total: 2, age: 0 })
  },
)

t.test(
  'any answer is that of a committed state no older than two seconds, or says so, while others write and fold',
  async (t) => {
    const first = await testService(t)
    const other = await testService(t, {
      database: first,
      config: { REDIS_PREFIX: first.config.REDIS_PREFIX },
    })
    const begun: number[] = []
    const done: number[] = []
    const until = performance.now() + 6_000
    const write = async () => {
      while (performance.now() < until) {
        begun.push(performance.now())
        await insert(first.db, `W${begun.length}`)
        done.push(performance.now())
        if (done.length % 20 === 0) await foldBatch(first.db)
        await sleep(10)
      }
    }
    const wrong: string[] = []
    let answers = 0
    const read = async (service: TestService) => {
      while (performance.now() < until) {
        const askedAt = performance.now()
        const { total, how } = await ask(service)
        const [least, most] = [done.filter((at) => at < askedAt - 2_000).length, begun.length]
        answers += 1
        if (total === null || total > most || (total < least && !how.includes('stale')))
          wrong.push(`${least} <= ${total} <= ${most}: ${how}`)
        await sleep(5)
      }
    }
    await Promise.all([write(), read(first), read(other)])
    t.same(wrong, [])
    t.ok(answers > 20 && done.length > 20, `${answers} answers, ${done.length} commits`)
  },
)

t.test('PostgreSQL gone: the last figures with their age; with none, 503; and back', async (t) => {
  const service = await serviceBehindFaultyProxy(t)
  await insert(service.db, '1')
  t.equal((await ask(service)).total, 1)
  for (const [outage, what] of [
    [() => service.faultyProxy.refuseConnections(), 'cut'],
    [() => service.faultyProxy.stopForwarding(), 'hanging'],
  ] as const) {
    outage()
    const stale = await eventually(
      () => ask(service),
      ({ how }) => how.includes('stale'),
    )
    t.match(stale, { status: 200, total: 1, how: /^stats; fwd=stale/ }, what)
    t.ok(stale.age >= 2, `Age: ${stale.age}`)
    if (what === 'cut') {
      const none = await ask(service, '?country=FR')
      t.equal(none.status, 503)
      t.match(none.response.json(), { code: 'unavailable' })
      t.ok(Number(none.response.headers['retry-after']) > 0)
    }
    service.faultyProxy.restore()
    t.match(
      await eventually(
        () => ask(service),
        ({ how }) => !how.includes('stale'),
      ),
      { status: 200, total: 1, age: 0 },
      'and back',
    )
  }
})

t.test(
  'PostgreSQL gone, and a cold process: what the others left in Redis, marked stale',
  async (t) => {
    const service = await serviceBehindFaultyProxy(t)
    await insert(service.db, '1')
    t.equal((await ask(service)).total, 1)
    await told(service)
    const cold = await testService(t, {
      database: service,
      apiUrl: service.faultyProxy.url,
      config: { REDIS_PREFIX: service.config.REDIS_PREFIX },
    })
    service.faultyProxy.refuseConnections()
    t.match(
      await eventually(
        () => ask(cold),
        // A busy machine may keep Redis from answering in time.
        ({ status }) => status === 200,
      ),
      { status: 200, total: 1, how: /^stats; fwd=stale/ },
    )
    t.match(await ask(cold, '?country=FR'), { status: 503 })
  },
)

t.test('Redis gone, hanging and back costs nothing but the sharing', async (t) => {
  const { redisUrl } = await servers()
  const faultyProxy = await startFaultyProxy(t, redisUrl)
  const lines: { level: number; msg: string }[] = []
  const service = await testService(t, {
    config: { REDIS_URL: faultyProxy.url },
    log: (line) => lines.push(JSON.parse(line)),
  })
  const ofRedis = () => lines.filter(({ msg }) => msg.startsWith('Redis'))
  await insert(service.db, '1')
  const other = await testService(t, {
    database: service,
    config: { REDIS_PREFIX: service.config.REDIS_PREFIX },
  })
  faultyProxy.stopForwarding()
  t.match(await ask(service), { status: 200, total: 1, how: 'stats; fwd=miss' }, 'hanging')
  const before = ofRedis().length
  faultyProxy.refuseConnections()
  t.match(
    await ask(service, '?country=ES'),
    { status: 200, total: 1, how: 'stats; fwd=miss' },
    'gone',
  )
  t.match(await ask(service), { status: 200, how: 'stats; hit' })
  const tries = faultyProxy.refusedConnections()
  await eventually(
    async () => faultyProxy.refusedConnections(),
    (now) => now > tries + 1,
  )
  faultyProxy.restore()
  let number = 0
  const shared = await eventually(
    async () => {
      number += 1
      const query = `?from=2026-01-01&to=${dayAfter('2026-01-01', number)}`
      await ask(service, query)
      // Nobody waits for Redis to be told.
      await sleep(100)
      return ask(other, query)
    },
    ({ how }) => how.includes('shared'),
  )
  t.match(shared, { status: 200, how: 'stats; hit; detail=shared' }, 'back')
  const away = /^Redis is away.*: limits and caches are each process's own until it is back$/
  t.match(
    ofRedis().slice(before),
    [
      { level: 40, msg: away },
      { level: 30, msg: /^Redis is back/ },
    ],
    'a line for each change',
  )
  t.equal(ofRedis().length - before, 2, 'however often it was tried')
})

t.test('Redis full, and Redis answering rubbish', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-redis-'))
  const own = await startRedis({ directory })
  if (!own) throw new Error('The tests need a real Redis: install redis-server or valkey-server.')
  t.teardown(async () => {
    await own.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  const service = await testService(t, { config: { REDIS_URL: own.url } })
  // A connection of the test's own: unlike the service's it waits, however slow the machine is.
  const redis = new Redis(own.url)
  t.teardown(() => redis.disconnect())
  await insert(service.db, '1')
  t.equal((await ask(service)).total, 1)
  const [key = ''] = await redis.keys('*:stats:1:*')
  const whole = (await redis.get(key)) ?? ''
  const rubbish = [
    '{"body": 1',
    'null',
    '[]',
    JSON.stringify({ ...JSON.parse(whole), version: 'none' }),
    whole.replace('\\"total\\":1', '\\"total\\":7'),
    JSON.stringify({ ...JSON.parse(whole), today: 5 }),
  ]
  for (const text of rubbish) {
    await redis.set(key, text)
    const cold = await testService(t, {
      database: service,
      config: { REDIS_URL: own.url, REDIS_PREFIX: service.config.REDIS_PREFIX },
    })
    t.match(await ask(cold), { status: 200, total: 1, how: 'stats; fwd=miss' }, text.slice(0, 40))
    await eventually(
      () => redis.get(key),
      (now) => now !== text,
    )
  }
  await redis.del(key)
  await redis.lpush(key, 'a list')
  const cold = await testService(t, {
    database: service,
    config: { REDIS_URL: own.url, REDIS_PREFIX: service.config.REDIS_PREFIX },
  })
  t.match(await ask(cold), { status: 200, total: 1, how: 'stats; fwd=miss' }, 'a list')
  await redis.config('SET', 'maxmemory', '1')
  t.match(
    await ask(service, '?country=ES'),
    { status: 200, total: 1, how: 'stats; fwd=miss' },
    'full',
  )
  t.match(await ask(service, '?country=ES'), { status: 200, total: 1, how: 'stats; hit' }, 'full')
})

t.test(
  '500 simultaneous cold requests on two processes are at most one computation each',
  async (t) => {
    const { config, db } = await testService(t)
    await insert(db, '1')
    const directory = mkdtempSync(join(tmpdir(), 'tqs-stampede-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const { seller, ...rest } = company
    writeFileSync(join(directory, 'company.json'), JSON.stringify({ ...seller, ...rest }))
    const ports = [await choosePort('test'), await choosePort('test')]
    for (const port of ports) {
      const { output } = startProgram(t, ['src/server.ts'], {
        DATABASE_URL: config.DATABASE_URL,
        REDIS_URL: config.REDIS_URL,
        REDIS_PREFIX: config.REDIS_PREFIX,
        MEILI_URL: config.MEILI_URL,
        MEILI_SEARCH_KEY: config.MEILI_SEARCH_KEY,
        COMPANY_FILE: join(directory, 'company.json'),
        ANONYMOUS_SCOPES: 'stats:read',
        STATS_LIMIT_PER_MINUTE: '100000',
        PORT: String(port),
        OPS_PORT: String(await choosePort('test')),
      })
      const up = await eventually(
        () =>
          fetch(`http://127.0.0.1:${port}/`).then(
            () => true,
            () => false,
          ),
        (answers) => answers,
      )
      t.ok(up, output())
    }
    const answers = await Promise.all(
      Array.from({ length: 500 }, async (_, number) => {
        const port = ports[number % 2]
        const response = await fetch(`http://127.0.0.1:${port}/api/stats`)
        return {
          port,
          status: response.status,
          how: response.headers.get('cache-status'),
          total: ((await response.json()) as Stats).quotes.total,
        }
      }),
    )
    t.equal(answers.filter(({ status, total }) => status === 200 && total === 1).length, 500)
    for (const port of ports) {
      const computed = answers.filter(
        (answer) => answer.port === port && answer.how === 'stats; fwd=miss',
      ).length
      t.ok(computed <= 1, `${computed} computations`)
    }
  },
)

t.test('a process keeps a bounded number of answers', async (t) => {
  const service = await testService(t, { config: { REDIS_URL: 'redis://127.0.0.1:9' } })
  await ask(service)
  t.match(await ask(service), { how: 'stats; hit' })
  for (let number = 0; number < 500; number += 1) {
    await ask(
      service,
      `?from=2020-01-01&to=${2020 + Math.floor(number / 28)}-02-${String(1 + (number % 28)).padStart(2, '0')}`,
    )
  }
  t.match(
    await ask(service),
    { how: 'stats; fwd=miss' },
    'the one that was used least recently had to go',
  )
})
