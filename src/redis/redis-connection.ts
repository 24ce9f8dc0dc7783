// Opens the connection to Redis. Close it with `redis.disconnect()`.
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import pTimeout from 'p-timeout'
import { parseRedisUrl, type RedisAddress } from './redis-address.ts'

// The service works without Redis.
const connectMs = 1_000
// Redis answers in under a millisecond. Computing is faster than a longer wait.
export const redisCommandTimeout = { ms: 250 }
// A host without power closes no connection. TCP would notice that after 15 minutes.
export const redisSilence = { ms: 5_000 }
// Health checks are more frequent, and a stopped service must leave nothing behind.
const healthKeyMs = 60_000
// The service works without Redis.
export const firstConnectionTimeout = { ms: 3_000 }
// Sixteen attempts are longer than the 15 s after which a cluster replaces a node.
const failoverRetryMs = 1_000
// A restart of Redis is short, so the first attempts follow quickly.
export const backoffStepMs = 100
// Redis is used again within a second after it has recovered.
const maxBackoffMs = 1_000

/** One server, also if Sentinels choose it, or a cluster. Both have the same commands. */
export type RedisClient = Redis | Cluster

/**
 * Returns a connection that fails fast: while Redis is unreachable a command rejects at once and
 * the connection reconnects in the background. Resolves after the first attempt to connect, even
 * if it failed. Throws if REDIS_URL cannot be read.
 */
export async function openRedis(url: string): Promise<RedisClient> {
  const redis = createClient(parseRedisUrl(url))
  // optional-redis.ts logs errors. An error without a listener would end the process.
  redis.on('error', () => undefined)
  const attempt = new Promise<void>((resolve) => {
    redis.once('ready', resolve).once('close', resolve)
  })
  // If no Sentinel answers, the driver never connects to Redis, so neither event comes.
  await pTimeout(attempt, { milliseconds: firstConnectionTimeout.ms, fallback: () => undefined })
  return redis
}

function createClient(address: RedisAddress): RedisClient {
  const { tls, login, nodes, database } = address
  const options = {
    ...login,
    ...(tls && { tls: {} }),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectMs,
    commandTimeout: redisCommandTimeout.ms,
    socketTimeout: redisSilence.ms,
    retryStrategy: pauseBefore,
    // A primary that became a replica closes no connection. Another one may lead to the primary.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  } satisfies RedisOptions
  switch (address.kind) {
    case 'server':
      return new Redis({ ...options, ...nodes[0], db: database })
    case 'sentinel': {
      const { username, password } = address.sentinelLogin
      return new SentinelRedis({
        ...options,
        db: database,
        sentinels: nodes,
        name: address.primaryName,
        ...(username && { sentinelUsername: username }),
        ...(password && { sentinelPassword: password }),
        ...(tls && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
        sentinelRetryStrategy: pauseBefore,
        sentinelCommandTimeout: connectMs,
        // Notices a failover at once, also if the old primary still answers.
        failoverDetector: true,
      })
    }
    case 'cluster':
      return new Cluster(nodes, {
        redisOptions: options,
        enableOfflineQueue: false,
        clusterRetryStrategy: pauseBefore,
        slotsRefreshTimeout: connectMs,
        // Together longer than the time after which a cluster replaces a node (15 s by default).
        retryDelayOnFailover: failoverRetryMs,
        maxRedirections: 16,
        // Certificates contain host names. Without this, the driver resolves each name and connects
        // to the address.
        ...(tls && { dnsLookup: (name, found) => found(null, name) }),
      })
  }
}

/**
 * Returns a health check that stores a key. A replica and a Sentinel answer PING, but store none. One
 * node of a cluster stores the keys of its slots: `MOVED` in the log tells it from the cluster.
 */
export const redisHealth = (redis: RedisClient, redisPrefix: string) => ({
  check: () => redis.set(`${redisPrefix}health`, 1, 'PX', healthKeyMs),
})

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
      }, backoffStepMs).unref()
    })
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.#isClosed = true
    super.disconnect(reconnect)
  }
}

const pauseBefore = (attempt: number) => Math.min(attempt * backoffStepMs, maxBackoffMs)
