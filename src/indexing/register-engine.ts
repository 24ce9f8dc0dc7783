// Registers a search engine, so that the triggers add outbox rows for it.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'

/**
 * Registers the engine if it is new. Must be called before the first build: transactions that
 * began before the registration may have added no outbox rows, so the function waits until all of
 * them have ended. An indexer that starts meanwhile waits too, because the registration is recorded
 * as incomplete. Calls `onWait` once if there are such transactions.
 */
export async function registerEngine(
  db: Kysely<Tables>,
  registrationName: string,
  onWait: () => void = () => undefined,
): Promise<void> {
  await sql`
    insert into search_engines (name, registered_in)
    values (${registrationName}, pg_current_xact_id())
    on conflict do nothing
  `.execute(db)
  const { registered_in: transactionId } = await db
    .selectFrom('search_engines')
    .select('registered_in')
    .where('name', '=', registrationName)
    .executeTakeFirstOrThrow()
  if (transactionId === null) return
  if (await hasOlderTransaction(db, transactionId)) {
    onWait()
    do {
      await sleep(timeouts.indexing.olderTransactions.ms)
    } while (await hasOlderTransaction(db, transactionId))
  }
  await db
    .updateTable('search_engines')
    .set({ registered_in: null })
    .where('name', '=', registrationName)
    .where('registered_in', '=', transactionId)
    .execute()
}

async function hasOlderTransaction(db: Kysely<Tables>, transactionId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select has_older_transaction(${transactionId}::xid8) as found
  `.execute(db)
  return rows[0]?.found ?? false
}
