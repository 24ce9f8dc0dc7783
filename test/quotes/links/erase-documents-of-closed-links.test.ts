// Documents of links that were closed long ago are erased; hashes and dates stay.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../../src/database/postgres-pool.ts'
import {
  createQuoteLink,
  eraseDocumentsOfClosedLinks,
  eraseDocumentsRegularly,
  recordLinkSettings,
} from '../../../src/quotes/links/manage-links.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { servers } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { startProgram } from '../../support/run-program.ts'
import { testService } from '../../support/service/test-service.ts'

const day = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * day)

/** Moves the dates of a link into the past, which only a superuser without triggers can do. */
async function closeInThePast(
  db: Awaited<ReturnType<typeof testService>>['db'],
  id: number,
  { expired, revoked }: { expired?: number; revoked?: number },
) {
  await db.transaction().execute(async (transaction) => {
    await sql`set local session_replication_role = replica`.execute(transaction)
    await sql`update quote_shares set
      expires_at = coalesce(${expired === undefined ? null : inDays(-expired)}, expires_at),
      revoked_at = coalesce(${revoked === undefined ? null : inDays(-revoked)}, revoked_at)
      where id = ${id}`.execute(transaction)
  })
}

t.test('erases documents of links that expired or were revoked 400 days ago', async (t) => {
  const { app, db, roles } = await testService(t, { index: false })
  await addQuote(db, 'P-1')
  const closed = [
    {},
    { expired: 399 },
    { expired: 401 },
    { revoked: 399 },
    { revoked: 401 },
    { expired: 10, revoked: 401 },
  ]
  const tokens: string[] = []
  for (const [index, dates] of closed.entries()) {
    tokens.push(await createQuoteLink(db, { number: 'P-1' }))
    await closeInThePast(db, index + 1, dates)
  }
  await db
    .insertInto('quote_share_views')
    .values([
      { share_id: '1', viewed_at: inDays(-401) },
      { share_id: '1', viewed_at: inDays(-1) },
    ])
    .execute()
  const readRows = () => db.selectFrom('quote_shares').selectAll().orderBy('id').execute()
  const before = await readRows()
  const indexer = openDatabase(roles.indexer)
  t.teardown(() => indexer.destroy())
  t.equal(await eraseDocumentsOfClosedLinks(indexer), 3)
  const after = await readRows()
  t.same(
    after.map(({ document }) => document !== null),
    [true, true, false, true, false, false],
  )
  // The validity is part of the document.
  const withoutDocument = (rows: typeof before) =>
    rows.map((row) => ({ ...row, document: null, valid_until: null }))
  t.strictSame(withoutDocument(after), withoutDocument(before), 'hashes and dates stay')
  t.equal((await db.selectFrom('quote_share_views').selectAll().execute()).length, 1)
  const statuses = []
  for (const token of tokens) statuses.push((await app.inject(`/quote/share/${token}`)).statusCode)
  t.same(statuses, [200, 410, 410, 410, 410, 410])
  t.equal(await eraseDocumentsOfClosedLinks(indexer), 0)
  const headers = { accept: 'application/json' }
  const erased = await app.inject({ url: `/quote/share/${tokens[2]}`, headers })
  t.equal(erased.json().code, 'link_expired', 'a visitor sees that the link has expired')

  for (const args of [[], ['--json']]) {
    const list = startProgram(t, ['scripts/share.ts', 'list', 'P-1', ...args], {
      IMPORTER_DATABASE_URL: roles.importer,
    })
    t.equal(await list.exit, 0, list.output())
    // Newest first.
    const listed = list.output().trim().split('\n').reverse()
    t.same(
      listed.map((line) => /\tdocument erased(\t|$)|"isErased":true/.test(line)),
      [false, false, true, false, true, true],
    )
  }

  await recordLinkSettings(db, { maxLines: 2000, retentionDays: 30 })
  t.equal(
    await eraseDocumentsOfClosedLinks(indexer),
    2,
    'the retention time is that in the database',
  )
  await t.rejects(
    sql`update quote_shares set document = null where id = 1`.execute(db),
    { code: '23000' },
    'the document of an open link cannot be erased',
  )
})

t.test('the indexer erases documents when it starts', async (t) => {
  const { db, roles, config } = await testService(t, { index: false })
  const { meiliMasterKey } = await servers()
  await addQuote(db, 'P-1')
  await createQuoteLink(db, { number: 'P-1' })
  await closeInThePast(db, 1, { revoked: 500 })
  const program = startProgram(t, ['scripts/indexer.ts'], {
    INDEXER_DATABASE_URL: roles.indexer,
    MEILI_URL: config.MEILI_URL,
    MEILI_MASTER_KEY: meiliMasterKey,
    SEARCH_INDEX: config.SEARCH_INDEX,
  })
  const areErased = async () => {
    const rows = await db.selectFrom('quote_shares').select('document').execute()
    return rows.every(({ document }) => document === null)
  }
  t.ok(await eventually(areErased, Boolean), program.output())
  await eventually(async () => program.output().includes('Erased'), Boolean)
  t.match(program.output(), /Erased 1 document of links closed long ago/)
  program.child.kill('SIGTERM')
  t.equal(await program.exit, 0)
})

t.test('a failure is logged and does not end the indexer', async (t) => {
  const { db } = await testService(t, { index: false })
  await sql`drop function purge_quote_shares(integer)`.execute(db)
  const lines: string[] = []
  const stop = new AbortController()
  const erasing = eraseDocumentsRegularly(db, {
    signal: stop.signal,
    log: (line) => lines.push(line),
  })
  await eventually(async () => lines.length, Boolean)
  stop.abort()
  await erasing
  t.match(lines, [
    /Could not erase documents of closed links; retrying in 60 minutes: .*purge_quote_shares/,
  ])
})
