// Logs when Redis becomes unreachable or refuses commands, and when it works again.
import { Redis } from 'ioredis'
import { describeError } from '../monitoring/describe-error.ts'
import { getLastError, type RedisClient } from './redis-connection.ts'

// It says so within milliseconds, unless it is loading its data.
const loadingCheckMs = 1_000
// A replica refuses writes and answers reads. The log would change with each of them.
export const redisRecoveryMs = 10_000

type Log = { warn(text: string): void; info(text: string): void }
type RedisObserver = { countRefusal(code: string): void; countTimeout(): void }

/** What the codes of refusals mean for whoever set REDIS_URL. */
const meanings: Record<string, string> = {
  READONLY: 'it is a replica: REDIS_URL must lead to the primary',
  MOVED: 'it is a node of a cluster: use redis+cluster:// in REDIS_URL',
  CROSSSLOT: 'it is a cluster that distributes keys in another way',
  CLUSTERDOWN: 'the cluster misses some of its nodes',
  MASTERDOWN: 'it is a replica without its primary',
  OOM: 'its memory is full: see maxmemory and maxmemory-policy',
  LOADING: 'it loads its data',
  MISCONF: 'it cannot write its data to disk',
  NOREPLICAS: 'too few replicas follow it',
  NOAUTH: 'it needs a password',
  WRONGPASS: 'the user or the password is wrong',
  NOPERM: 'the user may not run this command or use this key',
  ERR: 'it does not know a command: it may be a Sentinel, or no cluster',
}

/**
 * Logs one line for each change, because the service works without Redis and nothing else would
 * show the outage. Replies are logged by their code, because their text may contain addresses.
 */
export class RedisOutageLog {
  readonly #redis: RedisClient
  readonly #log: Log
  readonly #observer: RedisObserver
  #isReachable = true
  #reason = ''
  /** The codes that were logged, until Redis has accepted commands for a while. */
  readonly #loggedCodes = new Set<string>()
  #refusedAt = 0
  #loadingTimer: NodeJS.Timeout | undefined

  constructor(redis: RedisClient, log: Log, observer: RedisObserver) {
    this.#redis = redis
    this.#log = log
    this.#observer = observer
    redis.on('error', this.#onError).on('reconnecting', this.#onDisconnect)
    redis.on('ready', this.#onReady).on('connect', this.#onConnect)
    if (redis.status === 'ready') return
    if (redis.status === 'connect') this.#onConnect()
    const error = getLastError(redis)
    if (error !== undefined) this.#onError(error)
    this.#onDisconnect()
  }

  stop(): void {
    this.#redis.off('error', this.#onError).off('reconnecting', this.#onDisconnect)
    this.#redis.off('ready', this.#onReady).off('connect', this.#onConnect)
    clearTimeout(this.#loadingTimer)
  }

  commandSucceeded(): void {
    // A node of a cluster accepts the keys of its own slots, as long as the connection lasts.
    if (this.#loggedCodes.size === 0 || this.#loggedCodes.has('MOVED')) return
    // A replica goes on answering reads, so one success does not show that Redis works.
    if (performance.now() - this.#refusedAt < redisRecoveryMs) return
    this.#loggedCodes.clear()
    this.#log.info('Redis accepts commands again: caches and limits are shared')
  }

  /** Call it after each failed command. `#onDisconnect` logs connections that break. */
  commandFailed(error: unknown): void {
    const code = getRefusalCode(error)
    if (code === null) {
      if (isTimeout(error)) this.#observer.countTimeout()
      return
    }
    this.#recordRefusal(code)
  }

  #recordRefusal(code: string): void {
    this.#observer.countRefusal(code)
    this.#refusedAt = performance.now()
    if (this.#loggedCodes.has(code)) return
    this.#loggedCodes.add(code)
    const meaning = meanings[code] ?? 'see its own log'
    this.#log.warn(
      `Redis refuses commands (${code}: ${meaning}): each process caches and limits on its own`,
    )
  }

  readonly #onError = (error: unknown) => {
    const code = getRefusalCode(error)
    if (code !== null) this.commandFailed(error)
    this.#reason = ` (${code ?? describeError(getCause(error))})`
  }

  readonly #onDisconnect = () => {
    // The connection to a replica is opened anew after each refused command.
    if (!this.#isReachable || this.#loggedCodes.size > 0) return
    this.#isReachable = false
    this.#log.warn(`Redis is unreachable${this.#reason}: each process caches and limits on its own`)
  }

  /** The driver rejects commands by itself until a server has loaded its data. */
  readonly #onConnect = () => {
    clearTimeout(this.#loadingTimer)
    this.#loadingTimer = setTimeout(() => this.#checkLoading(), loadingCheckMs).unref()
  }

  async #checkLoading(): Promise<void> {
    const redis = this.#redis
    if (!(redis instanceof Redis) || redis.status !== 'connect') return
    // `#onDisconnect` logs a connection that breaks meanwhile.
    const info = await redis.info('persistence').catch(() => '')
    if (info.includes('\nloading:1')) this.#recordRefusal('LOADING')
  }

  readonly #onReady = () => {
    this.#loggedCodes.delete('MOVED')
    if (!this.#isReachable) this.#log.info('Redis is reachable again: caches and limits are shared')
    this.#isReachable = true
    this.#reason = ''
  }
}

/** The error of a transaction, and of a cluster, says only that others failed before. */
type OuterError = { previousErrors?: unknown[]; lastNodeError?: unknown }

/** Returns the error that led to this one, or this one. */
function getCause(error: unknown): unknown {
  const { previousErrors = [], lastNodeError } = (error ?? {}) as OuterError
  return previousErrors[0] ?? lastNodeError ?? error
}

/** Returns the first word of an error that Redis itself answered, otherwise null. */
function getRefusalCode(outerError: unknown): string | null {
  const error = getCause(outerError)
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null
  const [code = ''] = error.message.split(' ')
  return /^[A-Z]{2,20}$/.test(code) ? code : 'ERR'
}

const isTimeout = (error: unknown) =>
  error instanceof Error && (error.name === 'TimeoutError' || error.message === 'Command timed out')
