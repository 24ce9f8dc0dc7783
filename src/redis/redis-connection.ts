// Opens the connection to Redis. Close it with `redis.disconnect()`.
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import pTimeout from 'p-timeout'
import { timeouts } from '../timeouts.ts'
import { parseRedisUrl, type RedisAddress } from './redis-address.ts'

/** One server, also if Sentinels choose it, or a cluster. Both have the same commands. */
export type RedisClient = Redis | Cluster

const { connect, command, silence, backoffStep, backoffMax, firstConnection, failover, healthKey } =
  timeouts.redis

/**
 * Returns a connection that fails fast: while Redis is unreachable a command rejects at once and
 * the connection reconnects in the background. Resolves after the first attempt to connect, even
 * if it failed. Throws if REDIS_URL cannot be read.
 */
export async function openRedis(url: string): Promise<RedisClient> {
  const redis = createClient(parseAddress(url))
  // redis-outage-log.ts logs errors. An error without a listener would end the process.
  redis.on('error', (error: unknown) => lastErrors.set(redis, error))
  const attempt = new Promise<void>((resolve) => {
    redis.once('ready', resolve).once('close', resolve)
  })
  // If no Sentinel answers, the driver never connects to Redis, so neither event comes.
  await pTimeout(attempt, { milliseconds: firstConnection.ms, fallback: () => undefined })
  return redis
}

const lastErrors = new WeakMap<RedisClient, unknown>()

/** Returns the last error of a connection of `openRedis`; undefined if there was none. */
export function getLastError(redis: RedisClient): unknown {
  return lastErrors.get(redis)
}

function parseAddress(url: string): RedisAddress {
  try {
    return parseRedisUrl(url)
  } catch (error) {
    throw new Error(`REDIS_URL: ${(error as Error).message}`, { cause: error })
  }
}

function createClient(address: RedisAddress): RedisClient {
  const { tls, login } = address
  const options = {
    ...login,
    ...(tls && { tls: {} }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connect.ms,
    commandTimeout: command.ms,
    socketTimeout: silence.ms,
    retryStrategy: pauseBefore,
    // A primary that became a replica closes no connection. Another one may lead to the primary.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  } satisfies RedisOptions
  switch (address.kind) {
    case 'server':
      return new Redis({ ...options, ...address.node, db: address.database })
    case 'sentinel': {
      const { username, password } = address.sentinelLogin
      return new SentinelRedis({
        ...options,
        db: address.database,
        sentinels: address.sentinels,
        name: address.primaryName,
        ...(username && { sentinelUsername: username }),
        ...(password && { sentinelPassword: password }),
        ...(tls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
        sentinelRetryStrategy: pauseBefore,
        sentinelCommandTimeout: connect.ms,
        // Notices a failover at once, also if the old primary still answers.
        failoverDetector: true,
      })
    }
    case 'cluster':
      return new Cluster(address.nodes, {
        redisOptions: options,
        enableOfflineQueue: false,
        clusterRetryStrategy: pauseBefore,
        slotsRefreshTimeout: connect.ms,
        // Together longer than the time after which a cluster replaces a node (15 s by default).
        retryDelayOnFailover: failover.ms,
        maxRedirections: 16,
        // Certificates contain host names. Without this, the driver resolves each name and connects
        // to the address.
        ...(tls && { dnsLookup: (name, found) => found(null, name) }),
      })
  }
}

/**
 * Returns a health check. A replica, a Sentinel and a single node of a cluster answer PING, but
 * store no key, or not every key.
 */
export function redisHealth(
  redis: RedisClient,
  redisPrefix: string,
): { check(): Promise<unknown> } {
  return {
    async check() {
      await redis.set(`${redisPrefix}health`, 1, 'PX', healthKey.ms)
      if (redis instanceof Redis && (await isOneOfSeveralNodes(redis)))
        throw new Error(
          'REDIS_URL names one node of a cluster, which stores only some of the keys.',
        )
    },
  }
}

/** A cluster of one node stores every key. */
async function isOneOfSeveralNodes(redis: Redis): Promise<boolean> {
  try {
    const info = await redis.info('cluster')
    if (!info.includes('cluster_enabled:1')) return false
    const size = /cluster_size:(\d+)/.exec(await redis.cluster('INFO'))?.[1]
    return Number(size) > 1
  } catch {
    // A user without the right to ask may store keys all the same, as has just been checked.
    return false
  }
}

/**
 * A connection through Sentinels that goes on connecting until `disconnect` is called. The driver
 * (ioredis 6.0) gives up for good if a failover is announced while it asks a Sentinel for the
 * address of the primary: its connection then has the status `end`.
 */
class SentinelRedis extends Redis {
  #isClosed = false

  constructor(options: Omit<RedisOptions, 'replyMapping'>) {
    super(options)
    this.on('end', () => {
      setTimeout(() => {
        // An error does not get lost: the driver also emits it.
        if (!this.#isClosed) this.connect().catch(() => undefined)
      }, backoffStep.ms).unref()
    })
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.#isClosed = true
    super.disconnect(reconnect)
  }
}

const pauseBefore = (attempt: number) => Math.min(attempt * backoffStep.ms, backoffMax.ms)
