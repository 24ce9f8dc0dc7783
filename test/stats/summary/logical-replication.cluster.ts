// The statistics of a subscriber of logical replication, set up as the runbook says.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { recordCompany } from '../../../src/company/company-record.ts'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { findSummaryDifferences } from '../../../src/stats/summary/check-months.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { company, writeCompanyFile } from '../../support/database/company.ts'
import { eventually } from '../../support/eventually.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'
import { insertCustomers, insertQuotes } from '../insert-quotes.ts'
import { buildQuote, type Quote } from '../quote-builder.ts'
import { foldedStats } from '../stats-service.ts'

const runbook = readFileSync(
  new URL('../../../docs/operations/runbook.md', import.meta.url),
  'utf8',
)
const publication = findInRunbook(/```sql\n([^`]*create publication[^`]*)```/)
/** The commands that rebuild and verify the summary of the subscriber. */
const rebuildBlock = findInRunbook(/```sh\n(node scripts\/stats\.ts rebuild\n[^`]*)```/)
/** The statements that correct triggers that somebody has disabled and enabled. */
const repair = findInRunbook(/`(alter table quotes enable replica[^`]*)`/)
const repairOthers = findInRunbook(/`(alter table quote_lines enable replica[^`]*)`/)

const serverUrl = await startReplicatingPostgres()
const urlOf = (name: string) => new URL(`/${name}`, serverUrl).href
const publisher = await createDatabase('publisher')
const subscriber = await createDatabase('subscriber')

t.test('the quotes that a subscriber copies and applies count once', async (t) => {
  await insertCustomers(publisher, ['1'])
  await insertQuotes(publisher, numberedQuotes('copied', 300))
  // `verify`, below, also compares the amounts of quotes with their lines.
  await sql`
    update quotes set (net, tax, gross) = (select net, tax, gross from quote_totals(quotes.id))
  `.execute(publisher)
  await sql.raw(publication).execute(publisher)
  await subscribe()
  t.equal(await waitForTotal(300), 300, 'the initial copy')
  // Quotes and lines are copied at the same time, so the runbook rebuilds the summary.
  await eventually(
    async () => (await sql`select from quote_lines`.execute(subscriber)).rows.length,
    (count) => count === 600,
  )
  const output = runBlock(rebuildBlock, urlOf('subscriber'))
  t.match(output, 'The summary agrees with all quotes')

  await insertQuotes(publisher, numberedQuotes('applied', 250))
  await publisher.updateTable('quotes').set({ net: '7', gross: '7' }).execute()
  await publisher.deleteFrom('quotes').where('number', 'like', '%1').execute()
  t.equal(await waitForTotal(495), 495)
  t.same(await foldedStats(subscriber), await foldedStats(publisher))
  t.same(await findSummaryDifferences(subscriber), [])
})

t.test('a quote with a viewed link can be deleted on the publisher', async (t) => {
  await sql`
    delete from quote_lines
    where quote_id = (select id from quotes where number = 'copied-0');
    update quotes set net = 0, gross = 0 where number = 'copied-0';
    select create_quote_share('copied-0', null, sha256('token'), null);
    insert into quote_share_views (share_id) select id from quote_shares
  `.execute(publisher)
  await publisher.deleteFrom('quotes').where('number', '=', 'copied-0').execute()
  t.equal(await waitForTotal(494), 494)
})

t.test('the triggers of a subscriber can be repaired', async (t) => {
  for (const table of ['quotes', 'quote_lines', 'customers', 'products'].map(sql.table))
    await sql`
      alter table ${table} disable trigger user;
      alter table ${table} enable trigger user
    `.execute(subscriber)
  await sql.raw(repair).execute(subscriber)
  await sql.raw(repairOthers).execute(subscriber)
  await insertQuotes(publisher, numberedQuotes('repaired', 1))
  t.equal(await waitForTotal(495), 495)
})

t.test('customers and products follow each change on the publisher', async (t) => {
  const setQuotes = (prefix: string, values: Partial<Quote>) =>
    publisher.updateTable('quotes').set(values).where('number', 'like', `${prefix}%`).execute()
  const changes: Record<string, () => Promise<unknown>> = {
    'accepted quotes': () => setQuotes('applied-2', { status: 'sent', decided_on: null }),
    'rates and countries': () =>
      setQuotes('applied-3', { currency: 'USD', rate: '0.5', country: null }),
    'changed lines': () =>
      publisher.updateTable('quote_lines').set({ net: '9' }).where('sku', '=', 'A').execute(),
    'other SKUs': () =>
      publisher.updateTable('quote_lines').set({ sku: 'C' }).where('sku', '=', 'B').execute(),
    'deleted lines': () =>
      sql`delete from quote_lines where position = 2 and quote_id % 3 = 0`.execute(publisher),
    'deleted quotes': () => publisher.deleteFrom('quotes').where('number', 'like', '%5').execute(),
    names: async () => {
      await publisher.updateTable('customers').set({ name: 'Another name' }).execute()
      await publisher.insertInto('products').values({ sku: 'A', name: 'Hammer' }).execute()
    },
    'a deleted customer': () => publisher.deleteFrom('customers').execute(),
  }
  for (const [what, change] of Object.entries(changes)) {
    const { version: before } = await readSummaryState(subscriber)
    await change()
    await waitUntilApplied()
    for (const by of ['customer', 'product'] as const)
      t.same(await foldedStats(subscriber, { by }), await foldedStats(publisher, { by }), what)
    t.same(await findSummaryDifferences(subscriber), [], what)
    t.notSame((await readSummaryState(subscriber)).version, before, `${what} change the version`)
  }
})

t.test('a truncate empties the statistics of the subscriber', async (t) => {
  await sql`truncate quotes cascade`.execute(publisher)
  t.equal(await waitForTotal(0), 0)
  t.same(await findSummaryDifferences(subscriber), [])
})

/** Returns what the parentheses of the pattern contain. Throws if the runbook has no such text. */
function findInRunbook(pattern: RegExp): string {
  const text = pattern.exec(runbook)?.[1]
  if (text === undefined) throw new Error(`The runbook has no block that matches ${pattern}`)
  return text
}

/** Starts a server for this file alone: the shared one does not write what replication needs. */
async function startReplicatingPostgres(): Promise<string> {
  const directory = createTemporaryDirectory(t, 'replication')
  const settings = { wal_level: 'logical', fsync: 'off' }
  const { url, stop } = await startPostgres({ directory: join(directory, 'postgres'), settings })
  t.teardown(stop)
  return url
}

async function createDatabase(name: string): Promise<Database> {
  const admin = openDatabase(serverUrl, { connections: 1 })
  await sql`create database ${sql.id(name)}`.execute(admin)
  await admin.destroy()
  const db = openDatabase(urlOf(name), { connections: 2 })
  t.teardown(() => db.destroy())
  await migrate(db)
  await recordCompany(db, company)
  return db
}

/** Both databases are on one server, where a subscription that creates its slot waits forever. */
async function subscribe(): Promise<void> {
  await sql`select pg_create_logical_replication_slot('quoting', 'pgoutput')`.execute(publisher)
  await sql`
    create subscription quoting connection ${sql.lit(urlOf('publisher'))} publication quoting
    with (create_slot = false)
  `.execute(subscriber)
}

/** Runs a block of the runbook with the settings of a program of this database. */
function runBlock(block: string, databaseUrl: string): string {
  const directory = createTemporaryDirectory(t, 'replication')
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-euc', block], {
    cwd: new URL('../../..', import.meta.url),
    encoding: 'utf8',
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      DATABASE_URL: databaseUrl,
      COMPANY_FILE: writeCompanyFile(directory),
    },
  })
  if (status !== 0) throw new Error(`${block}\n${stderr}`)
  return stdout
}

function numberedQuotes(prefix: string, count: number): Quote[] {
  const lines = [
    { sku: 'A', net: '10' },
    { sku: 'B', net: '0.0049' },
  ]
  return Array.from({ length: count }, (_, n) =>
    buildQuote(`${prefix}-${n}`, { customer_id: n % 2 ? '1' : null, lines }),
  )
}

/** Waits until the subscriber has applied what is committed on the publisher. */
async function waitUntilApplied(): Promise<void> {
  const { rows } = await sql<{ position: string }>`
    select pg_current_wal_insert_lsn() as position
  `.execute(publisher)
  await eventually(
    async () =>
      (
        await sql`
          select from pg_replication_slots
          where slot_name = 'quoting' and confirmed_flush_lsn >= ${rows[0]?.position}::pg_lsn
        `.execute(publisher)
      ).rows.length,
    (count) => count > 0,
  )
}

/** Waits until the subscriber counts so many quotes, and returns how many it counts at last. */
async function waitForTotal(total: number): Promise<number> {
  return eventually(
    async () => (await foldedStats(subscriber)).quotes.total,
    (found) => found === total,
  )
}
