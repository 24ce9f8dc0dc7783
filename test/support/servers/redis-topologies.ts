// Starts what REDIS_URL may lead to: a primary with replicas and Sentinels, and a cluster.
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { giveTo } from '../../../scripts/servers/data-directory.ts'
import { findProgram } from '../../../scripts/servers/programs.ts'
import { isAnswering, redisProgram } from '../../../scripts/servers/redis.ts'
import type { RunningServer } from '../../../scripts/servers/running-server.ts'
import { startServer } from '../../../scripts/servers/server-process.ts'
import { FailureLog } from '../../../src/monitoring/log/failure-log.ts'
import type { RedisAccess } from '../../../src/redis/optional-redis.ts'
import type { RedisClient } from '../../../src/redis/redis-connection.ts'
import { eventually } from '../eventually.ts'
import { createTemporaryDirectory } from '../temporary-directory.ts'

const host = '127.0.0.1'
/** A node that does not answer for so long counts as failed, in ms. */
const downAfterMs = 1_000

export const portOf = ({ url }: { url: string }): number => Number(new URL(url).port)

/**
 * Starts one server, which ends with the test. `settings` are lines of its configuration. With
 * `awaitsData: false` it may still be loading its data.
 */
export async function startRedisServer(
  t: Test,
  settings: string[],
  { sentinel = false, awaitsData = true } = {},
): Promise<RunningServer> {
  const directory = createTemporaryDirectory(t, 'redis')
  const redis = await findProgram(redisProgram, () => undefined)
  if (!redis) throw new Error('There is no Redis.')
  const server = await startServer({
    name: 'Redis',
    directory,
    port: undefined,
    reportProgress: () => undefined,
    stopSignal: 'SIGTERM',
    prepare: async (place) => {
      const file = join(place.directory, 'redis.conf')
      writeFileSync(file, [`bind ${host}`, `dir ${place.directory}`, ...settings, ''].join('\n'))
      giveTo(place.account, file)
      return {
        ...(await redis.prepareFor(place)),
        args: (port) => [file, '--port', String(port), ...(sentinel ? ['--sentinel'] : [])],
        url: (port) => `redis://${host}:${port}`,
        isAnswering: awaitsData ? isAnswering : isListening,
      }
    },
  })
  t.teardown(() => server.stop())
  return server
}

const isListening = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), host)
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })

/** Starts a primary and a replica that has its data. */
export async function startReplication(
  t: Test,
): Promise<{ primary: RunningServer; replica: RunningServer }> {
  const primary = await startRedisServer(t, ['save ""'])
  const replica = await startRedisServer(t, [
    'save ""',
    `replicaof ${host} ${portOf(primary)}`,
    'repl-diskless-load on-empty-db',
  ])
  await withClient(replica.url, (client) =>
    waitForText(
      () => client.info('replication'),
      (text) => text.includes('master_link_status:up'),
    ),
  )
  return { primary, replica }
}

/** Starts three Sentinels that watch a primary with a replica. */
export async function startSentinels(t: Test) {
  const { primary, replica } = await startReplication(t)
  const settings = [
    `sentinel monitor mymaster ${host} ${portOf(primary)} 2`,
    `sentinel down-after-milliseconds mymaster ${downAfterMs}`,
    'sentinel failover-timeout mymaster 5000',
  ]
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, () => startRedisServer(t, settings, { sentinel: true })),
  )
  // A failover needs Sentinels that know each other and the replica.
  for (const { url } of sentinels)
    await withClient(url, (client) =>
      waitForText(
        async () => String(await client.call('SENTINEL', 'MASTER', 'mymaster')),
        (text) => /num-slaves,1,/.test(text) && /num-other-sentinels,2,/.test(text),
      ),
    )
  const hosts = sentinels.map((server) => `${host}:${portOf(server)}`).join(',')
  return { primary, replica, sentinels, url: `redis+sentinel://${hosts}/mymaster` }
}

/** Starts a cluster of three primaries and three replicas. */
export async function startCluster(t: Test): Promise<{ nodes: RunningServer[]; url: string }> {
  const settings = ['save ""', 'cluster-enabled yes', `cluster-node-timeout ${downAfterMs}`]
  const nodes = await Promise.all(
    Array.from({ length: 6 }, () =>
      startRedisServer(t, [...settings, 'repl-diskless-load on-empty-db']),
    ),
  )
  const clients = nodes.map(({ url }) => new Redis(url))
  try {
    const [first] = clients
    if (!first) throw new Error('There are no nodes.')
    for (const [index, client] of clients.slice(0, 3).entries())
      await client.cluster('ADDSLOTSRANGE', index * 5_462, Math.min(16_383, index * 5_462 + 5_461))
    for (const node of nodes.slice(1)) await first.cluster('MEET', host, portOf(node))
    const ids = await Promise.all(
      clients.map(async (client) => String(await client.cluster('MYID'))),
    )
    for (const client of clients)
      await waitForText(
        async () => String(await client.cluster('NODES')),
        (text) => ids.every((id) => text.includes(id)),
      )
    for (const [index, client] of clients.slice(3).entries())
      await client.cluster('REPLICATE', ids[index] ?? '')
    for (const client of clients)
      await waitForText(
        async () => `${await client.cluster('INFO')} ${await client.cluster('NODES')}`,
        (text) => text.includes('cluster_state:ok') && text.match(/slave /g)?.length === 3,
      )
    for (const client of clients.slice(3))
      await waitForText(
        () => client.info('replication'),
        (text) => text.includes('master_link_status:up'),
      )
  } finally {
    for (const client of clients) client.disconnect()
  }
  const hosts = nodes.map((server) => `${host}:${portOf(server)}`).join(',')
  return { nodes, url: `redis+cluster://${hosts}` }
}

/** Polls until the text is as expected. Throws if it is not after 30 s. */
async function waitForText(
  read: () => Promise<string>,
  isExpected: (text: string) => boolean,
): Promise<void> {
  const text = await eventually(read, isExpected, 30_000)
  if (!isExpected(text)) throw new Error(`Redis did not get ready: ${text}`)
}

async function withClient<Result>(
  url: string,
  action: (client: Redis) => Promise<Result>,
): Promise<Result> {
  const client = new Redis(url)
  try {
    return await action(client)
  } finally {
    client.disconnect()
  }
}

const ignore = { error: () => undefined, info: () => undefined }

/** Access to Redis whose failures are not logged. */
export const unobserved = (client: RedisClient): RedisAccess => ({
  client,
  failures: new FailureLog(ignore, { failure: () => '', recovery: '' }),
})
