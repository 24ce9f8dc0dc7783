// What was sent cannot be altered: each role tries to change the document of a link, to read the
// documents of others, and to reuse a token. An altered document is never shown.
// Numbers such as S40 are those of the attacks in docs/security.md.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { generateLinkToken, hashLinkToken } from '../../../src/quotes/links/read-link.ts'
import { addQuote, expireLinks } from '../../support/database/add-quote.ts'
import { type TestDatabase, testDatabase } from '../../support/database/test-database.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'
import { testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

const denied = { code: '42501' }
const guarded = { code: '23000' }
const run = (db: Database, text: string) => sql.raw(text).execute(db)

function open(t: Test, url: string): Database {
  const db = openDatabase(url, { connections: 1 })
  t.teardown(() => db.destroy())
  return db
}

/** Creates a role with the rights that docs/data-model.md gives to an ERP, and logs in with it. */
async function openAsErp(t: Test, { db, url }: TestDatabase): Promise<Database> {
  const name = `erp_${randomBytes(6).toString('hex')}`
  await run(db, `create role ${name} login password 'x'`)
  await run(
    db,
    `grant select on currencies, countries, company to ${name};
     grant select, insert, update, delete on products, customers, quotes, quote_lines to ${name};
     grant execute on function
       create_quote_share(text, integer, bytea, timestamptz, text), revoke_quote_share(bigint)
       to ${name}`,
  )
  t.teardown(() => run(db, `drop owned by ${name}; drop role ${name}`))
  const own = new URL(url)
  Object.assign(own, { username: name, password: 'x' })
  return open(t, own.href)
}

const attacks = [
  `update quote_shares set document = replace(document, 'ES91 2100 0418 4502 0005 1332', 'GB33')`,
  `update quote_shares set document = '{}', content_hash = encode(sha256('{}'), 'hex')`,
  'update quote_shares set revoked_at = null',
  'update quote_shares set expires_at = null',
  'update quote_shares set quote_id = 2',
  `insert into quote_shares (quote_id, token_hash, document, content_hash)
   values (1, sha256('x'), '{}', encode(sha256('{}'), 'hex'))`,
  'delete from quote_shares',
  'truncate quote_shares',
  'select document from quote_shares',
  'select token_hash from quote_shares',
  'select id from quote_shares',
  'alter table quote_shares disable trigger all',
  'alter table quote_shares drop constraint quote_shares_hash_is_of_document',
  'update quote_share_settings set max_lines = 100000',
  `create or replace function quote_document(bigint, text) returns jsonb language sql
   return '{}'::jsonb`,
]

/** Statements that reach the rows, the guard or its functions in other ways. */
const detours = [
  `merge into quote_shares using (values (1)) as one (n) on true
   when matched then update set document = '{}'`,
  'with changed as (update quote_shares set document = null returning *) select * from changed',
  `insert into quote_shares (token_hash, document, content_hash)
   values (sha256('y'), '{}', encode(sha256('{}'), 'hex'))
   on conflict (token_hash) do update set document = '{}'`,
  'copy quote_shares to stdout',
  'copy quote_shares from stdin',
  'select * from quote_shares for update',
  "do $$ begin execute 'update quote_shares set document = null'; end $$",
  'declare rows cursor with hold for select * from quote_shares',
  'explain analyze delete from quote_shares',
  'begin; lock table quote_shares',
  `create trigger x before insert on quote_shares
   for each row execute function guard_quote_share()`,
  'drop trigger guard on quote_shares',
  'create rule x as on update to quote_shares do instead nothing',
  'alter table quote_shares owner to current_user',
  'grant all on quote_shares to current_user',
  'create index on quote_shares (document)',
  'create publication everything for table quote_shares',
  `create or replace function guard_quote_share() returns trigger language plpgsql
   as 'begin return new; end'`,
  'drop function guard_quote_share()',
  'alter function read_quote_share_document(bytea) owner to current_user',
  'alter function create_quote_share(text, integer, bytea, timestamptz, text) reset search_path',
  `create function quote_languages(integer) returns text[] language sql return '{}'::text[]`,
  'create temporary table copied as table quote_shares',
  'create temporary table like_it (like quote_shares including all)',
  'create temporary table child () inherits (quote_shares)',
  'create temporary view seen as select 1; select * from quote_shares',
  "select nextval('quote_shares_id_seq')",
  "select setval('quote_shares_id_seq', 1)",
  'update quote_share_settings set retention_days = 1',
  "update company set seller = '{}'",
  "insert into quote_share_views (share_id, viewed_at) values (1, '2999-01-01')",
  'delete from quote_share_views',
  "select quote_document(1, 'es')",
  'truncate quotes cascade',
  'set role postgres',
  'set session authorization postgres',
  'set session_replication_role = replica',
  'alter role current_user superuser',
  'create extension dblink',
  "select pg_create_logical_replication_slot('copy', 'pgoutput')",
]

t.test('no role of a program or ERP changes, creates or reads rows of links (S40)', async (t) => {
  const database = await testDatabase(t)
  const { db, roles } = database
  await addQuote(db, 'P-1')
  await createQuoteLink(db, { number: 'P-1' })
  const before = await db.selectFrom('quote_shares').selectAll().execute()
  const erp = await openAsErp(t, database)
  for (const [name, attacker] of Object.entries({
    api: open(t, roles.api),
    indexer: open(t, roles.indexer),
    importer: open(t, roles.importer),
    erp,
  }))
    for (const attack of [...attacks, ...detours]) {
      await t.rejects(run(attacker, attack), denied, `${name}: ${attack}`)
      await run(attacker, 'rollback')
    }
  t.strictSame(await db.selectFrom('quote_shares').selectAll().execute(), before)
})

t.test('changing the validity of a quote does not change its sent links', async (t) => {
  const service = await testService(t)
  const { db, app } = service
  const later = '2099-12-31'
  await addQuote(db, 'P-1')
  const update = (valid_until: string) =>
    db.updateTable('quotes').set({ status: 'sent', decided_on: null, valid_until }).execute()
  const readStatus = async (token: string) =>
    (await app.inject(`/quote/share/${token}?format=json`)).json<{ status: string }>().status
  await update(later)
  const open = await createQuoteLink(db, { number: 'P-1' })
  await update('2026-11-05')
  const expired = await createQuoteLink(db, { number: 'P-1' })
  t.equal(await readStatus(open), 'sent', 'still valid')
  t.equal(await readStatus(expired), 'expired')
  await update(later)
  t.equal(await readStatus(expired), 'expired', 'not open again')
})

t.test('each role may call only the functions that its program needs', async (t) => {
  const database = await testDatabase(t)
  const { db, roles } = database
  await addQuote(db, 'P-1')
  const erp = await openAsErp(t, database)
  const calls = {
    create: "select create_quote_share('P-1', null, sha256(gen_random_uuid()::text::bytea))",
    revoke: 'select revoke_quote_share(1)',
    list: "select * from list_quote_shares('P-1')",
    read: "select * from read_quote_share(sha256('x'))",
    readDocument: "select read_quote_share_document(sha256('x'))",
    purge: 'select purge_quote_shares(10)',
  }
  const allowed: Record<string, (keyof typeof calls)[]> = {
    api: ['read', 'readDocument'],
    indexer: ['purge'],
    // It warns of what it finds in the document that it has just created.
    importer: ['create', 'revoke', 'list', 'readDocument'],
    erp: ['create', 'revoke'],
  }
  const connections: Record<string, Database> = {
    api: open(t, roles.api),
    indexer: open(t, roles.indexer),
    importer: open(t, roles.importer),
    erp,
  }
  for (const [name, caller] of Object.entries(connections))
    for (const [call, text] of Object.entries(calls)) {
      const mayCall = allowed[name]?.includes(call as keyof typeof calls)
      if (mayCall) await t.resolves(run(caller, text), `${name}: ${call}`)
      else await t.rejects(run(caller, text), denied, `${name}: ${call}`)
    }
})

t.test('even the owner cannot change a document, an expiry or a revocation (S40)', async (t) => {
  const { db } = await testDatabase(t)
  await addQuote(db, 'P-1')
  await addQuote(db, 'P-2')
  await createQuoteLink(db, { number: 'P-1', expiry: new Date('2099-01-01') })
  for (const change of [
    `document = replace(document, 'Martillo', 'Otro')`,
    `document = '{}', content_hash = encode(sha256('{}'), 'hex')`,
    'document = null',
    `content_hash = encode(sha256('x'), 'hex')`,
    `token_hash = sha256('x')`,
    `expires_at = expires_at + interval '1 day'`,
    `created_at = created_at - interval '1 day'`,
    `quote_id = (select id from quotes where number = 'P-2')`,
  ])
    await t.rejects(run(db, `update quote_shares set ${change}`), guarded, change)
  await run(db, 'update quote_shares set revoked_at = now()')
  await t.rejects(run(db, 'update quote_shares set revoked_at = null'), guarded)
  await t.rejects(
    run(
      db,
      `insert into quote_shares (quote_id, token_hash, document, content_hash)
       select quote_id, sha256('x'), document || ' ', content_hash from quote_shares`,
    ),
    { code: '23514', message: /quote_shares_hash_is_of_document/ },
  )
})

t.test('temporary objects of the importer do not change what is frozen (S40)', async (t) => {
  const { db, roles } = await testDatabase(t)
  await addQuote(db, 'P-1')
  const importer = open(t, roles.importer)
  for (const table of ['company', 'quotes', 'quote_lines', 'quote_shares', 'currencies'])
    await run(importer, `create temporary table ${table} (id bigint, seller jsonb)`)
  await run(importer, `insert into pg_temp.company (seller) values ('{"bank": {"iban": "GB33"}}')`)
  await run(importer, 'set search_path to pg_temp, public')
  const token = generateLinkToken()
  await sql`select public.create_quote_share('P-1', null, ${hashLinkToken(token)})`.execute(
    importer,
  )
  const { document } = await db
    .selectFrom('quote_shares')
    .select('document')
    .executeTakeFirstOrThrow()
  t.match(document, /"iban":"ES91 2100 0418 4502 0005 1332"/)
})

t.test('a token of a deleted quote cannot be used for another document (S42)', async (t) => {
  const { db, roles, app } = await testService(t, { index: false })
  const importer = open(t, roles.importer)
  await addQuote(importer, 'P-1')
  const token = await createQuoteLink(importer, { number: 'P-1' })
  const url = `/quote/share/${token}`
  t.equal((await app.inject(url)).statusCode, 200)
  await importer.deleteFrom('quotes').execute()
  await addQuote(importer, 'P-1', { notes: 'Pague a otra cuenta: GB33' })
  await t.rejects(
    sql`select create_quote_share('P-1', null, ${hashLinkToken(token)})`.execute(importer),
    { code: '23505' },
  )
  t.equal((await app.inject(url)).statusCode, 404)
  const row = await db.selectFrom('quote_shares').selectAll().executeTakeFirstOrThrow()
  t.match(row, { quote_id: null, document: null, content_hash: /^[0-9a-f]{64}$/ })
})

t.test('an altered document is not shown, also if its rendering is cached (S41)', async (t) => {
  const metrics = createMetrics()
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const { app, db, url } = await startServiceWithLink(t, { metrics, log })
  const request = (format: string) => app.inject(`${url}?format=${format}`)
  for (const format of ['html', 'json', 'pdf']) t.equal((await request(format)).statusCode, 200)
  // What an attacker with the rights of the owner can do.
  await run(db, 'alter table quote_shares disable trigger guard')
  await run(db, 'alter table quote_shares drop constraint quote_shares_hash_is_of_document')
  const replaceIban = "document = replace(document, 'ES91 2100 0418 4502 0005 1332', 'GB33')"
  await run(db, `update quote_shares set ${replaceIban}`)
  for (const format of ['html', 'json', 'pdf', 'html&lang=en', 'pdf&lang=en']) {
    const response = await request(format)
    t.equal(response.statusCode, 503, format)
    t.notMatch(response.body, /GB33/)
  }
  t.equal(await readMetric(metrics, 'tqs_altered_documents_total'), 5)
  t.equal(await readMetric(metrics, 'tqs_pdf_failures_total'), 0, 'the page fails too')
  t.match(lines.join('\n'), /"level":50.*The document of link 1 does not match its hash/)
  // With the hash of the altered document, which only a process that saw the first one can notice.
  await run(
    db,
    "update quote_shares set content_hash = encode(sha256(convert_to(document, 'UTF8')), 'hex')",
  )
  for (const format of ['html', 'json', 'pdf'])
    t.equal((await request(format)).statusCode, 503, `${format}, with another hash`)
  await run(db, 'update quote_shares set revoked_at = now()')
  t.equal((await request('html')).statusCode, 410)
})

t.test('a new link is shown though a restore has lost another one with its id', async (t) => {
  const { app, db, url } = await startServiceWithLink(t)
  t.equal((await app.inject(url)).statusCode, 200)
  await run(db, 'alter table quote_shares disable trigger guard')
  const token = generateLinkToken()
  const document = "replace(document, 'Martillo', 'Cincel')"
  await sql`
    update quote_shares set token_hash = ${hashLinkToken(token)}, document = ${sql.raw(document)},
      content_hash = encode(sha256(convert_to(${sql.raw(document)}, 'UTF8')), 'hex')
  `.execute(db)
  const restored = await app.inject(`/quote/share/${token}`)
  t.equal(restored.statusCode, 200)
  t.match(restored.body, 'Cincel')
  t.equal((await app.inject(url)).statusCode, 404)
})

t.test(
  'the API reads no document of an expired or revoked link, even if its clock is wrong',
  async (t) => {
    const { db, roles, app } = await testService(t, {
      index: false,
      clock: () => new Date('2000-01-01'),
    })
    const api = open(t, roles.api)
    await addQuote(db, 'P-1')
    const token = await createQuoteLink(db, { number: 'P-1' })
    const expired = await createQuoteLink(db, { number: 'P-1', expiry: new Date('2099-01-01') })
    await expireLinks(db)
    const read = async (token: string) =>
      (
        await sql<{ document: string | null }>`
        select read_quote_share_document(${hashLinkToken(token)}) as document`.execute(api)
      ).rows[0]?.document
    t.match(await read(token), /"number":"P-1"/)
    t.equal(await read(expired), null)
    await t.rejects(
      run(api, "select read_quote_share_document(sha256('x'), '2000-01-01'::timestamptz)"),
      { code: '42883' },
    )
    t.equal((await app.inject(`/quote/share/${expired}`)).statusCode, 410)
  },
)
