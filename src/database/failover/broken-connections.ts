// Tells errors of a broken connection from other errors, and repeats reads that met one.
import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import type { Pool, PoolClient, QueryResult } from 'pg'

/** Thrown for a connection to a server that is not the primary. */
export class NotPrimaryError extends Error {
  constructor() {
    super('This PostgreSQL is a replica, not the primary.')
  }
}

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
])
/** SQLSTATE: connection exceptions, and a server that stops, has crashed or is starting. */
const serverCodes = /^(08|57P0[123])/
/** The beginnings of errors of the driver and of this folder, which have no code. */
const messages = [
  'Connection terminated',
  // Of the rollback, after a transaction has lost its connection.
  'Client has encountered a connection error',
  'Client was closed',
  'timeout expired',
  'The new connection does not',
  'PostgreSQL sent nothing',
]

/** Whether the connection, not the statement, is the reason of the error. */
export function isBrokenConnection(error: unknown): boolean {
  if (error instanceof NotPrimaryError) return true
  if (error instanceof AggregateError) return error.errors.every(isBrokenConnection)
  if (!(error instanceof Error)) return false
  const code = String((error as { code?: unknown }).code ?? '')
  const hasMessage = messages.some((start) => error.message.startsWith(start))
  return networkCodes.has(code) || serverCodes.test(code) || hasMessage
}

/**
 * Runs `read`, a transaction that only reads, and once more if its connection breaks. Throws the
 * error of the second attempt.
 */
export async function repeatIfBroken<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (!isBrokenConnection(error)) throw error
    return read()
  }
}

/** A pool that can be told that its connections may be dead. */
type ReplacingPool = Pool & { replaceConnections(): void }

type Send = (client: PoolClient, text: string, values: readonly unknown[]) => Promise<QueryResult>

/**
 * Returns a dialect for Kysely that sends statements with `send`. With `repeatsReads`, a read that
 * is not part of a transaction is sent once more, on another connection, if its connection breaks.
 */
export function createDialect(
  pool: ReplacingPool,
  send: Send,
  { repeatsReads }: { repeatsReads: boolean },
): PostgresDialect {
  const kyselyPool: PostgresPool = {
    connect: async () => new RepeatingClient(pool, send, await pool.connect(), repeatsReads),
    end: () => pool.end(),
    options: pool.options,
  }
  return new PostgresDialect({ pool: kyselyPool })
}

class RepeatingClient {
  readonly #pool: ReplacingPool
  readonly #send: Send
  readonly #repeatsReads: boolean
  /** Null after the connection broke and there was no other one. */
  #client: PoolClient | null

  constructor(pool: ReplacingPool, send: Send, client: PoolClient, repeatsReads: boolean) {
    this.#pool = pool
    this.#send = send
    this.#client = client
    this.#repeatsReads = repeatsReads
  }

  query: PostgresPoolClient['query'] = (async (text: string, values: readonly unknown[]) => {
    const client = this.#client
    if (!client) throw new Error('Connection terminated: there was no other one.')
    const mayRepeat = this.#repeatsReads && client.getTransactionStatus() === 'I' && isRead(text)
    try {
      return await this.#send(client, text, values)
    } catch (error) {
      if (!isBrokenConnection(error)) throw error
      // Idle connections to the same server may be dead too, which nobody has noticed yet.
      this.#pool.replaceConnections()
      if (!mayRepeat) throw error
      // Released first: the pool may have no other connection.
      this.#client = null
      client.release(true)
      this.#client = await this.#pool.connect()
      return this.#send(this.#client, text, values)
    }
  }) as unknown as PostgresPoolClient['query']

  release(destroy?: boolean): void {
    this.#client?.release(destroy)
  }
}

/** Functions that the API calls with `select` may run twice. `with` may contain a write. */
function isRead(text: string): boolean {
  return /^\s*select\b/i.test(text) || (/^\s*with\b/i.test(text) && !writes.test(text))
}

const writes = /\b(insert|update|delete|merge)\b/i
