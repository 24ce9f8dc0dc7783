// Least privilege: the database role of each program allows what it needs only.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { migrate } from '../../scripts/migrate.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { grantRoles } from '../../src/database/role-grants.ts'
import { logins } from '../support/database/database-roles.ts'
import { emptyDatabase, servers, testDatabase } from '../support/database/test-database.ts'
import { runInProcess } from '../support/run-in-process.ts'

function open(t: Test, url: string): Database {
  const db = openDatabase(url, { connections: 2 })
  t.teardown(() => db.destroy())
  return db
}

const run = (db: Database, text: string) => sql.raw(text).execute(db)
const denied = { code: '42501' }

const database = await testDatabase(t)

t.test(
  'the API cannot read internal data, write what it serves, or change the schema',
  async (t) => {
    const { roles, db: owner } = database
    await createApiKey(owner, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
    const api = open(t, roles.api)
    for (const text of [
      'select internal_notes from quotes',
      'select customer_name from quotes',
      'select * from quotes',
      'select * from quote_lines',
      'select * from customers',
      'select tax_id from customers',
      'select contact_name from customers',
      'update customer_figures set quotes = 0',
      'select * from quote_changes',
      "select * from folded_quotes(null, '-infinity', 'infinity')",
      'select name from api_keys',
      "insert into products (sku, name) values ('A', 'A')",
      "update products set price = 1, currency = 'EUR'",
      'delete from products',
      'truncate products',
      "update quotes set status = 'accepted'",
      `insert into api_keys (id, kind, name, secret_hash, scopes)
      values ('000000000000', 'secret', 'x', sha256('x'), array['stats:read'])`,
      'update api_keys set unlimited = true',
      'update api_keys set revoked_at = null',
      'update api_keys set expires_at = null',
      'delete from api_keys',
      'select id from quotes',
      'update quote_figures set won_net = 0',
      'delete from quote_changes',
      'select rebuild_summary()',
      'update quote_summary set version = 0',
      'update summary_state set version = 0',
      'update summary_check set completed_at = now()',
      "select check_month('2026-01-01', 'repair', true)",
      "select newest_month_before('infinity')",
      'delete from index_outbox',
      'update search_indexes set version = 0',
      "insert into search_synonyms values ('a1', '{b1}')",
      "insert into search_pins values ('a1', '{b1}')",
      "insert into search_hidden_words values ('a1')",
      'update search_synonyms set two_way = false',
      'delete from search_pins',
      'truncate search_hidden_words',
      'update search_words_version set version = gen_random_uuid()',
      'update company set seller = null',
      'select viewed_at from quote_share_views',
      "insert into quote_share_views (share_id, viewed_at) values (1, 'infinity')",
      'drop table products',
      'alter table products disable trigger all',
      'create table mine (id integer)',
      'create temporary table mine (id integer)',
      'create function mine() returns integer language sql return 1',
      'create role mine',
      'alter role tqs_test_api superuser',
      'set role postgres',
      "copy products to program 'true'",
      "select pg_read_file('/etc/passwd')",
      'select rolpassword from pg_authid',
      'set session_replication_role = replica',
    ])
      await t.rejects(run(api, text), denied, text)
    await run(api, 'select fold_statistics()')
    await run(api, "select check_claimed_month(claim_month('1 minute'))")
    await run(api, 'select id, name from customers')
    await run(api, 'begin; lock table breakdown_sources in access share mode; rollback')
    await t.rejects(
      run(api, 'begin; lock table breakdown_sources in access exclusive mode'),
      denied,
    )
    await run(api, 'rollback')
  },
)

t.test('the API may call no function that writes, except those that may run twice', async (t) => {
  const { db } = database
  const { rows } = await sql<{ name: string }>`
    select proname as name from pg_proc
    where pronamespace = 'public'::regnamespace and provolatile = 'v'
      and prorettype <> 'trigger'::regtype
      -- Not the functions of extensions, which are in C.
      and prolang in (select oid from pg_language where lanname in ('sql', 'plpgsql'))
      and has_function_privilege('tqs_test_api', oid, 'execute')
    order by name
  `.execute(db)
  // The API sends a select again if its connection breaks, even if it had been executed.
  t.same(
    rows.map(({ name }) => name),
    ['check_claimed_month', 'claim_month', 'fold_statistics'],
  )
})

t.test(
  'the indexer writes its own tables, and reads of quotes only which products they list',
  async (t) => {
    const { roles } = database
    const indexer = open(t, roles.indexer)
    for (const text of [
      "update products set name = 'x'",
      'delete from products',
      "insert into search_synonyms values ('a1', '{b1}')",
      'delete from search_pins',
      'select customer_name from quotes',
      'select net from quotes',
      'select unit_price from quote_lines',
      'select id from customers',
      'select secret_hash from api_keys',
      'select fold_statistics()',
      "select claim_month('1 minute')",
      "select check_claimed_month('2026-01-01')",
      "select customer_figures_between('issued', '2026-01-01', '2026-01-31')",
      "select product_figures_between('issued', '2026-01-01', '2026-01-31')",
      'drop table index_outbox',
      'alter table index_outbox add column x integer',
      'create table mine (id integer)',
      'create temporary table mine (id integer)',
    ])
      await t.rejects(run(indexer, text), denied, text)
  },
)

t.test(
  'the importer writes the catalogue and quotes, and reads neither keys nor statistics',
  async (t) => {
    const { roles } = database
    const importer = open(t, roles.importer)
    await run(importer, "insert into products (sku, name) values ('A', 'A')")
    for (const text of [
      'select * from api_keys',
      'update quote_figures set won_net = 0',
      'delete from index_outbox',
      'select * from quote_changes',
      'select * from quote_figures',
      "update company set base_currency = 'USD'",
      'truncate quotes',
      'drop table products',
      'alter table quotes disable trigger all',
      'create table mine (id integer)',
    ])
      await t.rejects(run(importer, text), denied, text)
  },
)

t.test('grantRoles can run again, and revokes rights that were granted in addition', async (t) => {
  const { db, url, roles } = await testDatabase(t)
  await run(db, 'grant all on products to tqs_test_api')
  await run(db, 'grant execute on function rebuild_summary() to tqs_test_api')
  await run(
    db,
    `grant temporary on database ${new URL(url).pathname.slice(1)} to public, tqs_test_api`,
  )
  t.same(await grantRoles(db, logins), [])
  const api = open(t, roles.api)
  await t.rejects(run(api, 'delete from products'), denied)
  await t.rejects(run(api, 'select rebuild_summary()'), denied)
  await t.rejects(run(api, 'create temporary table mine (id integer)'), denied)
  const owner = new URL(url)
  const asOwner = { name: decodeURIComponent(owner.username), password: 'x' }
  await t.rejects(grantRoles(db, { api: asOwner }), /owns the database/)
  await t.rejects(
    grantRoles(db, { api: logins.api, indexer: logins.api }),
    /a database role of its own/,
  )
})

t.test('grantRoles closes functions that a restore has opened to everybody', async (t) => {
  const { db, roles } = await testDatabase(t)
  const readOpen = async () => {
    const { rows } = await sql<{ name: string }>`
      select p.oid::regprocedure::text as name from pg_proc as p
      where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
        and exists (
          select from aclexplode(coalesce(proacl, acldefault('f', proowner))) as acl
          where acl.grantee = 0
        )
      order by name
    `.execute(db)
    return rows.map(({ name }) => name)
  }
  const before = await readOpen()
  await run(db, 'grant execute on all functions in schema public to public')
  t.ok((await readOpen()).length > before.length)
  await grantRoles(db, logins)
  t.same(await readOpen(), before)
  await t.rejects(run(open(t, roles.importer), "select claim_month('1 minute')"), denied)
})

t.test(
  'scripts/migrate.ts creates the configured roles and engine keys, with any passwords',
  async (t) => {
    const { meiliUrls, meiliMasterKey } = await servers()
    const url = await emptyDatabase(t)
    const own = new URL(url)
    own.username = 'tqs_test_migrated'
    own.password = encodeURIComponent("p@ss:w/ord'ñ %")
    t.teardown(async () => {
      const db = openDatabase(url, { connections: 1 })
      // The role does not exist if the test failed early.
      await run(db, 'drop owned by tqs_test_migrated').catch(() => undefined)
      await run(db, 'drop role if exists tqs_test_migrated').catch(() => undefined)
      await db.destroy()
    })
    const env = {
      DATABASE_URL: url,
      API_DATABASE_URL: own.href,
      MEILI_URL: meiliUrls[0],
      MEILI_MASTER_KEY: meiliMasterKey,
      COMPANY_FILE: 'company.example.json',
    }
    for (const attempt of ['first run', 'second run']) {
      const { status, stdout, stderr } = await runInProcess(migrate, [], { env })
      t.equal(status, 0, `${attempt}: ${stderr}`)
      t.match(stdout, /The role tqs_test_migrated has the rights that the api needs/)
      t.notMatch(stdout + stderr, /p@ss|p%40ss/)
    }
    const api = open(t, own.href)
    await run(api, 'select * from products')
    await t.rejects(run(api, 'delete from products'), denied)
    const withoutPassword = { ...env, API_DATABASE_URL: 'postgres://127.0.0.1/x' }
    t.match(await runInProcess(migrate, [], { env: withoutPassword }), {
      status: 1,
      stderr: /API_DATABASE_URL needs a user name and a password/,
    })
  },
)

t.test(
  'an owner who is no superuser migrates, creates roles, and reports the rights that it lacks',
  async (t) => {
    const { databaseUrl } = await servers()
    const admin = open(t, databaseUrl)
    const names = [
      'tqs_test_managed',
      'tqs_test_managed_api',
      'tqs_test_managed_indexer',
      'tqs_test_managed_given',
    ]
    const [owner, api, indexer, given] = names as [string, string, string, string]
    const dropAll = async () => {
      await run(admin, `drop database if exists ${owner} with (force)`)
      for (const name of names.toReversed()) await run(admin, `drop role if exists ${name}`)
    }
    await dropAll()
    t.teardown(dropAll)
    await run(admin, `create role ${owner} login createrole password 'x'`)
    await run(admin, `create database ${owner} owner ${owner}`)
    const urlOf = (role: string) => {
      const url = new URL(databaseUrl)
      Object.assign(url, { username: role, password: 'x', pathname: `/${owner}` })
      return url.href
    }
    const env = {
      DATABASE_URL: urlOf(owner),
      API_DATABASE_URL: urlOf(api),
      COMPANY_FILE: 'company.example.json',
    }
    const runMigrate = async (settings: Record<string, string>, status: number) => {
      const ended = await runInProcess(migrate, [], { env: { ...env, ...settings } })
      t.equal(ended.status, status, ended.stderr)
      return ended.stdout + ended.stderr
    }
    const missingRight = new RegExp(
      'Note: tqs_test_managed does not see the transactions of other roles: .+' +
        '`grant pg_read_all_stats to tqs_test_managed`',
    )
    t.match(await runMigrate({ INDEXER_DATABASE_URL: urlOf(indexer) }, 0), missingRight)
    const asApi = open(t, urlOf(api))
    await run(asApi, 'select * from products')
    await t.rejects(run(asApi, 'delete from products'), denied)

    // The note is about this: the indexer must see open transactions of other roles.
    const asIndexer = open(t, urlOf(indexer))
    const seesOlderTransaction = async () => {
      const { rows } = await sql<{
        sees: boolean
      }>`
        select has_older_transaction(
          (pg_current_xact_id()::text::numeric + 1)::text::xid8
        ) as sees`.execute(asIndexer)
      return rows[0]?.sees
    }
    await asApi.transaction().execute(async (transaction) => {
      await sql`select pg_current_xact_id()`.execute(transaction)
      t.equal(await seesOlderTransaction(), false)
      await run(admin, `grant pg_read_all_stats to ${owner}`)
      t.equal(await seesOlderTransaction(), true)
    })

    // Without CREATEROLE, with a role that the administrator created, and in a database that
    // another role owns.
    await run(admin, `alter role ${owner} nocreaterole`)
    await run(admin, `alter database ${owner} owner to current_user`)
    await run(admin, `grant temporary on database ${owner} to public`)
    t.match(
      await runMigrate({ API_DATABASE_URL: urlOf(given) }, 1),
      /may not create the role tqs_test_managed_given: .+createrole.+create role/,
    )
    await run(admin, `create role ${given} login password 'x'`)
    const output = await runMigrate({ API_DATABASE_URL: urlOf(given) }, 0)
    t.match(output, /may not change the role tqs_test_managed_given, .+ its password stays/)
    t.match(
      output,
      new RegExp(
        'given may create temporary tables, .+ ' +
          '`revoke temporary on database tqs_test_managed from public`',
      ),
    )
    t.notMatch(output, missingRight)
    const asGiven = open(t, urlOf(given))
    await run(asGiven, 'select * from products')
    await t.rejects(run(asGiven, 'delete from products'), denied)
    await run(admin, `alter role ${given} createdb`)
    t.match(
      await runMigrate({ API_DATABASE_URL: urlOf(given) }, 1),
      /has createdb, which tqs_test_managed may not revoke/,
    )
  },
)
