// Kysely on a pool whose connections prepare each statement once. Planning a large statement can
// take longer than executing it.
import { createHash } from 'node:crypto'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Tables } from './table-types.ts'
import { isPooled } from './transaction-pooling.ts'

/**
 * Returns a Kysely that names each statement with parameters, so that PostgreSQL keeps its plan for
 * the connection. Use it only where few different statements exist: a connection keeps all of them.
 * Behind a pooler it names none, because the next transaction may run on another connection.
 * `destroy()` closes the pool.
 */
export function createPreparingKysely(pool: Pool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparePool(pool) }) })
}

function preparePool(pool: Pool): PostgresPool {
  const clients = new WeakMap<PoolClient, PostgresPoolClient>()
  return {
    async connect() {
      const client = await pool.connect()
      const known = clients.get(client) ?? prepareClient(client)
      clients.set(client, known)
      return known
    },
    end: () => pool.end(),
    options: pool.options,
  }
}

function prepareClient(client: PoolClient): PostgresPoolClient {
  const query = (text: string, values: readonly unknown[]) =>
    values.length === 0
      ? client.query(text)
      : isPooled(client)
        ? client.query(text, [...values])
        : client.query({ name: nameOf(text), text, values: [...values] })
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy),
  }
}

/** The names of statements by their text. Few different statements exist. */
const names = new Map<string, string>()

function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 32)
  names.set(text, name)
  return name
}
