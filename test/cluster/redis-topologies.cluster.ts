// The service with each kind of Redis: a wrong one is noticed, and a failover loses nothing for
// long.
import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { createStoreClass } from '../../src/rate-limits/rate-limit-store.ts'
import { executeAll, OptionalRedis, observeRedis } from '../../src/redis/optional-redis.ts'
import { openRedis, redisHealth } from '../../src/redis/redis-connection.ts'
import { eventually } from '../support/eventually.ts'
import {
  startCluster,
  startRedisServer,
  startReplication,
  startSentinels,
  unobserved,
} from '../support/servers/redis-topologies.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

// Mostly waiting.
t.jobs = 3

/** Opens a connection as the API does, and keeps its log lines. */
async function openObserved(t: Test, url: string) {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const client = await openRedis(url)
  t.teardown(() => client.disconnect())
  const optional = new OptionalRedis(observeRedis(client, { warn: write, info: write }), 0)
  return { client, lines, optional }
}

/** Counts as the limits do, in a transaction. */
const countKey = (optional: OptionalRedis) =>
  optional.run(1_000, (redis) => executeAll(redis.multi().incr('count').pexpire('count', 1_000)))

const setKey = (optional: OptionalRedis, key = 'key') =>
  optional.run(1_000, (redis) => redis.set(key, '1'))

t.test('a Redis that refuses commands is down, and logged once', async (t) => {
  const { replica } = await startReplication(t)
  const clusterNode = await startRedisServer(t, ['save ""', 'cluster-enabled yes'])
  const sentinel = await startRedisServer(t, [], { sentinel: true })
  const full = await startRedisServer(t, ['save ""', 'maxmemory 1', 'maxmemory-policy noeviction'])
  for (const [server, code] of [
    [replica, 'READONLY'],
    [clusterNode, 'CLUSTERDOWN'],
    [sentinel, 'ERR'],
    [full, 'OOM'],
  ] as const) {
    const { client, lines, optional } = await openObserved(t, server.url)
    await t.rejects(redisHealth(client, 'test:').check(), code)
    const refusals = () => lines.filter((line) => line.includes(`(${code})`))
    await eventually(
      async () => {
        // A replica closes the connection after it has refused a command.
        t.equal(await setKey(optional, '192.0.2.1'), null)
        t.equal(await countKey(optional), null)
        return refusals().length
      },
      (count) => count > 0,
    )
    t.equal(await setKey(optional, '192.0.2.1'), null)
    t.same(refusals(), [
      `Redis is unreachable (${code}): each process caches and limits on its own`,
    ])
    t.notMatch(lines.join(), '192.0.2.1', 'the text of the reply is not logged')
  }
})

t.test('a server that is no cluster, and is named as one, is told by its code', async (t) => {
  const { url } = await startRedisServer(t, ['save ""'])
  const { lines } = await openObserved(t, url.replace('redis://', 'redis+cluster://'))
  const first = await eventually(async () => lines[0], Boolean)
  t.match(first, 'Redis is unreachable (ERR)')
})

t.test(
  'a node of a cluster, which stores the keys of its own slots, is told by its code',
  async (t) => {
    const { nodes } = await startCluster(t)
    const { lines, optional } = await openObserved(t, nodes[0]?.url ?? '')
    for (let n = 0; n < 20; n++) await setKey(optional, `key ${n}`)
    t.match(lines, [/Redis is unreachable \(MOVED\)/])
  },
)

t.test('a wrong password is told by its code', async (t) => {
  const { url } = await startRedisServer(t, ['save ""', 'requirepass secret'])
  const { lines } = await openObserved(t, url)
  const first = await eventually(async () => lines[0], Boolean)
  t.match(first, 'Redis is unreachable (NOAUTH)')
  const { optional: allowed } = await openObserved(t, url.replace('redis://', 'redis://:secret@'))
  t.equal(await setKey(allowed), 'OK')
})

t.test('a Redis that loads its data is used as soon as it has loaded them', async (t) => {
  const directory = createTemporaryDirectory(t, 'redis-loading')
  await chmod(directory, 0o777)
  const settings = [`dir ${directory}`, 'save ""', 'rdbcompression no']
  const filled = await startRedisServer(t, settings)
  const client = new Redis(filled.url)
  await client.mset(Array.from({ length: 400 }, (_, n) => (n % 2 ? 'x'.repeat(2_000) : `key ${n}`)))
  await client.save()
  client.disconnect()
  await filled.stop()
  // A key takes 50 ms. Requests are answered after each kilobyte.
  const slow = ['key-load-delay 50000', 'loading-process-events-interval-bytes 1024']
  const server = await startRedisServer(t, [...settings, ...slow], { awaitsData: false })
  const { optional } = await openObserved(t, server.url)
  t.equal(await setKey(optional), null)
  const reply = await eventually(
    () => setKey(optional),
    (reply) => reply === 'OK',
    60_000,
  )
  t.equal(reply, 'OK')
})

t.test('Sentinels lead to the primary, also after a failover', async (t) => {
  const { primary, replica, url } = await startSentinels(t)
  const { lines, optional } = await openObserved(t, url)
  t.equal(await setKey(optional), 'OK')
  await primary.stop()
  t.equal(
    await eventually(
      () => setKey(optional),
      (reply) => reply === 'OK',
      // A Sentinel that had no processor for 2 s does nothing for the next 30 s (TILT).
      200_000,
    ),
    'OK',
    'on a busy machine the Sentinels need a second election',
  )
  const promoted = await openObserved(t, replica.url)
  const stored = await eventually(
    () => promoted.optional.run(1_000, (redis) => redis.get('key')),
    (value) => value !== null,
  )
  t.equal(stored, '1')
  t.match(lines[0], /Redis is unreachable/)
})

t.test('the start does not wait for Sentinels that do not answer', async (t) => {
  const { lines, optional } = await openObserved(t, 'redis+sentinel://127.0.0.1:1/mymaster')
  t.equal(await setKey(optional), null)
  t.match(await eventually(async () => lines[0], Boolean), /Redis is unreachable/)
})

t.test('processes share limits and readings in a cluster, also after a failover', async (t) => {
  const { nodes, url } = await startCluster(t)
  const [first, other] = [await openObserved(t, url), await openObserved(t, url)]
  const prefix = `test:${randomBytes(6).toString('hex')}:`
  const count = (client: typeof first.client, caller: string) => {
    const Store = createStoreClass(unobserved(client), prefix)
    const store = new Store()
    return new Promise<number>((resolve, reject) =>
      store.incr(
        caller,
        (error, result) => (error ? reject(error) : resolve(result?.current ?? 0)),
        86_400_000,
        10,
      ),
    )
  }
  const callers = Array.from({ length: 20 }, (_, n) => `caller ${n}`)
  for (const caller of callers) await count(first.client, caller)
  for (const caller of callers) t.equal(await count(other.client, caller), 2, caller)

  await nodes[0]?.stop()
  const accepted = await eventually(
    () => Promise.all(callers.map((caller) => setKey(first.optional, caller))),
    (replies) => replies.every((reply) => reply === 'OK'),
    30_000,
  )
  t.same(accepted, Array(20).fill('OK'), 'keys of all nodes')
})
