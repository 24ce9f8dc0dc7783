// Retries reads whose connection breaks, as after a failover: transactions that only read, and
// single statements of Kysely.
import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import type { PoolClient, QueryResult } from 'pg'
import { BrokenConnectionError, isBrokenConnection } from './broken-connections.ts'
import type { FailoverPool } from './failover-pool.ts'

/**
 * Runs `read`, a transaction that only reads, and runs it once more if its connection breaks.
 * Throws the error of the second attempt.
 */
export async function retryIfConnectionBreaks<Result>(
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (!isBrokenConnection(error)) throw error
    return read()
  }
}

type Send = (client: PoolClient, text: string, values: readonly unknown[]) => Promise<QueryResult>

/**
 * Returns a dialect for Kysely that sends statements with `send`. If the pool retries reads, a read
 * outside of a transaction is sent once more, on another connection, if its connection breaks.
 */
export function createDialect(pool: FailoverPool, send: Send): PostgresDialect {
  const kyselyPool: PostgresPool = {
    connect: async () => new RetryingClient(pool, send, await pool.connect()),
    end: () => pool.end(),
    options: pool.options,
  }
  return new PostgresDialect({ pool: kyselyPool })
}

class RetryingClient {
  readonly #pool: FailoverPool
  readonly #send: Send
  /** Null after the connection broke and no other was available. */
  #client: PoolClient | null

  constructor(pool: FailoverPool, send: Send, client: PoolClient) {
    this.#pool = pool
    this.#send = send
    this.#client = client
  }

  query: PostgresPoolClient['query'] = (async (text: string, values: readonly unknown[]) => {
    const client = this.#client
    if (!client)
      throw new BrokenConnectionError('The connection broke, and no other was available.')
    const mayRetry =
      this.#pool.retriesReads && client.getTransactionStatus() === 'I' && mayRepeat(text)
    try {
      return await this.#send(client, text, values)
    } catch (error) {
      if (!isBrokenConnection(error)) throw error
      // Idle connections to the same server may be dead too, without any error yet.
      this.#pool.replaceConnections()
      if (!mayRetry) throw error
      // Released first, because the pool may have no other connection.
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

/**
 * Whether the statement may be sent twice. A `select` may call a function that writes. The API may
 * call only three of them, such as `fold_statistics`, and each may run twice. A `with` that
 * contains a write may not.
 */
function mayRepeat(text: string): boolean {
  return /^\s*select\b/i.test(text) || (/^\s*with\b/i.test(text) && !writes.test(text))
}

const writes = /\b(insert|update|delete|merge)\b/i
