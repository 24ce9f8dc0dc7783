// Registers a search engine, so that the triggers add outbox rows for it.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'

/**
 * Registers the engine if it is new. Must be called before the first build: transactions that
 * began before the registration may have added no outbox rows, so the function waits until all of
 * them have ended. Calls `onWait` once if there are such transactions.
 */
export async function registerEngine(
  db: Kysely<Tables>,
  engineName: string,
  onWait: () => void = () => undefined,
): Promise<void> {
  const existing = await db
    .selectFrom('search_engines')
    .select('name')
    .where('name', '=', engineName)
    .executeTakeFirst()
  if (existing) return
  const { rows } = await sql<{ id: string }>`
    with registered as (
      insert into search_engines (name) values (${engineName}) on conflict do nothing
    )
    select pg_current_xact_id()::text as id
  `.execute(db)
  const transactionId = rows[0]?.id ?? '0'
  if (!(await hasOlderTransaction(db, transactionId))) return
  onWait()
  do {
    await sleep(timeouts.indexing.olderTransactions.ms)
  } while (await hasOlderTransaction(db, transactionId))
}

async function hasOlderTransaction(db: Kysely<Tables>, transactionId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select has_older_transaction(${transactionId}::xid8) as found
  `.execute(db)
  return rows[0]?.found ?? false
}
