// Kysely on a pool whose connections prepare each statement once. Planning a large statement can
// take longer than executing it.
import { createHash } from 'node:crypto'
import { Kysely } from 'kysely'
import type { FailoverPool } from './failover/failover-pool.ts'
import { createDialect } from './failover/retry-reads.ts'
import type { Tables } from './table-types.ts'
import { isPooled } from './transaction-pooling.ts'

/**
 * Returns a Kysely that names each statement with parameters, so that PostgreSQL keeps its plan for
 * the connection. Use it only for few different statements, because a connection keeps all plans.
 * Behind a pooler it names no statement, because the next transaction may run on another
 * connection. `destroy()` closes the pool.
 */
export function createPreparingKysely(pool: FailoverPool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: createDialect(pool, (client, text, values) => {
      if (values.length === 0) return client.query(text)
      if (isPooled(client)) return client.query(text, [...values])
      return client.query({ name: nameOf(text), text, values: [...values] })
    }),
  })
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
