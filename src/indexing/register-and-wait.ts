// Registers an index, so that the triggers add outbox rows for it.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { requireFirstRow } from './first-row.ts'
import { addRegistration, markRegistered } from './registration.ts'
import { pause } from './scheduling/pause.ts'

// Happens once for each new index. Most transactions are short.
const olderTransactionsPauseMs = 100

type RegistrationOptions = {
  /** Called once if there are transactions that the function waits for. */
  onWait?: () => void
  /** Ends the wait. Then the function throws the reason of the signal. */
  signal?: AbortSignal
}

/**
 * Registers the index if it is new. Must be called before the first build: transactions that
 * began before the registration may have added no outbox rows, so the function waits until all of
 * them have ended. An indexer that starts meanwhile waits too, because the registration says
 * that it is incomplete.
 */
export async function registerIndex(
  db: Kysely<Tables>,
  registrationName: string,
  { onWait = () => undefined, signal = new AbortController().signal }: RegistrationOptions = {},
): Promise<void> {
  const transactionId = await addRegistration(db, registrationName)
  if (transactionId === null) return
  if (await hasOlderTransaction(db, transactionId)) {
    onWait()
    do {
      await pause(olderTransactionsPauseMs, signal)
      signal.throwIfAborted()
    } while (await hasOlderTransaction(db, transactionId))
  }
  await markRegistered(db, registrationName, transactionId)
}

async function hasOlderTransaction(db: Kysely<Tables>, transactionId: string): Promise<boolean> {
  const result = await sql<{ found: boolean }>`
    select has_older_transaction(${transactionId}::xid8) as found
  `.execute(db)
  return requireFirstRow(result).found
}
