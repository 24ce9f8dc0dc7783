// With a synchronous standby, revoked links and keys stay revoked after a failover, even if the
// operator lets other transactions not wait for the standby.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import {
  createQuoteLinkWithDetails,
  revokeAllLinksOfQuote,
  revokeQuoteLink,
} from '../../src/quotes/links/manage-links.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgresPair } from '../support/servers/postgres-pair.ts'

const limitMs = 60_000
const runbook = readFileSync(join(import.meta.dirname, '../../docs/operations/runbook.md'), 'utf8')
/** What the runbook says about standbys. The replica of this test is called `db2`. */
const [, block = ''] = /```sql\n([^`]*synchronous_standby_names[^`]*)```/.exec(runbook) ?? []

t.test('revocations survive a failover with synchronous_commit = local', async (t) => {
  const postgres = await startPostgresPair(t)
  const { database } = postgres
  const admin = openDatabase(database.url, { connections: 1 })
  // Each in a transaction of its own, as `alter system` requires.
  for (const statement of block.trim().split('\n')) await sql.raw(statement).execute(admin)
  const db = openDatabase(database.url, { connections: 6 })
  t.teardown(() => db.destroy())
  const readSetting = async () => {
    const { rows } = await sql<{ text: string }>`
      select current_setting('synchronous_commit') || ' ' ||
        current_setting('synchronous_standby_names') as text
    `.execute(db)
    return rows[0]?.text
  }
  const expected = 'local ANY 1 (db2, db3)'
  t.equal(await eventually(readSetting, (text) => text === expected, limitMs), expected)
  await addQuote(db, 'P-1')
  await addQuote(db, 'P-2')
  const first = await createQuoteLinkWithDetails(db, { number: 'P-1' })
  await createQuoteLinkWithDetails(db, { number: 'P-2' })
  const key = await createApiKey(db, { kind: 'secret', name: 'a', scopes: ['search:read'] })
  const { id: keyId } = await db.selectFrom('api_keys').select('id').executeTakeFirstOrThrow()
  t.ok(key.includes(keyId))

  await postgres.crashReplica()
  await addQuote(db, 'P-3')
  t.pass('another transaction does not wait for the standby')
  let doneCount = 0
  const revocations = [
    revokeQuoteLink(db, first.id),
    revokeAllLinksOfQuote(db, 'P-2'),
    revokeApiKey(db, keyId),
  ].map((revocation) => revocation.finally(() => (doneCount += 1)))
  const countWaiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity where wait_event = 'SyncRep'
    `.execute(admin)
    return rows[0]?.count ?? 0
  }
  t.equal(await eventually(countWaiting, (count) => count === 3, limitMs), 3)
  t.equal(doneCount, 0, 'no revocation is confirmed before the standby has it')
  await postgres.startOther()
  t.same(await Promise.all(revocations), [true, 1, true])

  await admin.destroy()
  await postgres.crashPrimary()
  await postgres.promoteReplica()
  // A new process, which asks both hosts which of them is the primary.
  const promoted = openDatabase(database.url, { connections: 1 })
  t.teardown(() => promoted.destroy())
  const { rows } = await sql<{ open: number }>`
    select (select count(*) from quote_shares where revoked_at is null)::int
      + (select count(*) from api_keys where revoked_at is null)::int as open
  `.execute(promoted)
  t.equal(rows[0]?.open, 0)
})
