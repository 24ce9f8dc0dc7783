// The release before migration 0051 works on the migrated database, with the views that have the
// old names. Its statements are below as its code sends them: those of its folders src/indexing,
// src/search-engine and src/database/role-grants.ts. When the views are dropped, this file goes.
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { grantRoles } from '../../src/database/role-grants.ts'
import { applyNextMigration, migrate } from '../../src/database/run-migrations.ts'
import { acquireLease, executeUnderLease } from '../../src/indexing/lease/indexer-lease.ts'
import { OutboxCursor } from '../../src/indexing/outbox.ts'
import { buildRoleUrl, logins } from '../support/database/database-roles.ts'
import { emptyDatabase, testDatabase } from '../support/database/test-database.ts'

const migrationBefore = '0050-rates-while-quotes-are-written'
const index = 'main-1a2b3c4d'
const nextIndex = `${index}~next`

/** What grants this release's predecessor gives to the roles, as far as these tables need it. */
const olderGrants = {
  api: [
    `select on products, product_popularity, product_changes, search_engines, parked_documents,
      indexer_leases`,
    'select on search_words_version',
    'update (used_at) on search_engines',
  ],
  indexer: [
    'select on products, search_words_version',
    `select, insert, update, delete on search_engines, product_changes, product_popularity,
      parked_documents, indexer_leases`,
  ],
}

type Program = keyof typeof olderGrants
type Statement = {
  text: string
  values?: unknown[]
  by?: Program
  /** The expected rows. Without it, the statement must only succeed. */
  rows?: unknown[]
}

const isPending = `(
  e.indexed_at is null
  or e.is_writing
  or coalesce(e.database_identity <> database_identity(), false)
  or exists (
    select from product_changes c
    where c.engine = e.name and c.xid >= pg_snapshot_xmax(e.settled_snapshot)
  )
  or exists (
    select from product_changes c
    where c.engine = e.name
      and c.xid = any (array(select pg_snapshot_xip(e.settled_snapshot)))
  )
)`

/** From the registration of an index to its removal. `product` is the id of a product. */
const listStatements = (product: string): Statement[] => [
  // Registration: register-and-wait.ts, registration.ts
  {
    text: `insert into search_engines (name, registered_in)
      values ($1, pg_current_xact_id()) on conflict do nothing`,
    values: [index],
  },
  {
    text: `insert into search_engines (name, registered_in)
      values ($1, pg_current_xact_id()) on conflict do nothing`,
    values: [index],
  },
  {
    text: `select "registered_in" is not null as "isNew", "is_writing", "pending",
        "settled_snapshot"::text, "version" from "search_engines" where "name" = $1`,
    values: [index],
    rows: [{ isNew: true, is_writing: true, pending: 0, settled_snapshot: '1:1:', version: '0' }],
  },
  {
    text: `update "search_engines" set "registered_in" = $1 where "name" = $2
      and "registered_in" is not null`,
    values: [null, index],
  },
  // Lease: indexer-lease.ts
  {
    text: 'insert into indexer_leases (engine, fence) values ($1, 0) on conflict do nothing',
    values: [index],
  },
  {
    text: 'insert into indexer_leases (engine, fence) values ($1, 0) on conflict do nothing',
    values: [index],
  },
  {
    text: `select "holder", coalesce(held_until < clock_timestamp(), true) as "is_over"
      from "indexer_leases" where "engine" = $1 for update`,
    values: [index],
    rows: [{ holder: null, is_over: true }],
  },
  {
    text: `update "indexer_leases" set "fence" = fence + 1, "holder" = $1,
        "held_until" = clock_timestamp() + make_interval(secs => 5)
      where "engine" = $2 returning "fence" as "fencingToken"`,
    values: ['host, process 1', index],
    rows: [{ fencingToken: '1' }],
  },
  {
    text: 'select "fence" as "fencingToken" from "indexer_leases" where "engine" = $1 for share',
    values: [index],
    rows: [{ fencingToken: '1' }],
  },
  {
    text: `update "indexer_leases" set "held_until" = clock_timestamp() where "engine" = $1
      and "fence" = $2 and "holder" is not null returning "fence" as "fencingToken"`,
    values: [index, '1'],
    rows: [{ fencingToken: '1' }],
  },
  // Outbox and parked documents: outbox.ts, change-sync.ts, parked-documents.ts, popularity.ts
  {
    text: 'insert into product_changes (engine, product_id) select $1, unnest($2::bigint[])',
    values: [index, [product]],
  },
  {
    text: `with changed as (select id as product_id from products where id = $1), queued as (
        insert into product_changes (engine, product_id)
        select e.name, c.product_id from changed c cross join search_engines e
      ) select count(*)::int as changed from changed`,
    values: [product],
    rows: [{ changed: 1 }],
  },
  { text: 'update "search_engines" set "is_writing" = true, "pending" = $1', values: [2] },
  {
    text: `with pending as (
        select * from (
          (select id, product_id, xid from product_changes
            where engine = $1 and xid >= $2::xid8 and true order by xid, id limit 10)
          union all
          (select id, product_id, xid from product_changes
            where engine = $1 and xid = any ($3::xid8[]) and true order by xid, id limit 10)
        ) as both_parts order by xid, id limit 10
      )
      select pg_current_snapshot()::text is not null as snapshot, (
        select json_agg(json_build_object('productId', product_id::text) order by xid, id)
        from pending
      ) as rows`,
    values: [index, '1', []],
    rows: [{ snapshot: true, rows: [{ productId: product }, { productId: product }] }],
  },
  ...['too long', 'still too long'].map((reason) => ({
    text: `insert into parked_documents (engine, product_id, reason)
      select $1, * from unnest($2::bigint[], $3::text[])
      on conflict (engine, product_id)
        do update set reason = excluded.reason, parked_at = excluded.parked_at`,
    values: [nextIndex, [product], [reason]],
  })),
  {
    text: 'update "parked_documents" set "engine" = $1 where "engine" = $2',
    values: [index, nextIndex],
  },
  {
    text: `select "parked_documents"."product_id" as "productId", "reason" from "parked_documents"
      left join "products" on "products"."id" = "parked_documents"."product_id"
      where "engine" = $1 order by "parked_at" limit 10`,
    values: [index],
    rows: [{ productId: product, reason: 'still too long' }],
  },
  // Status: index-status.ts, read-index-states.ts, index-state-follower.ts
  {
    by: 'api',
    text: `select e.name, case when e.is_writing then e.pending else 0 end as pending,
        (select count(*)::int from (
          select from parked_documents p where p.engine = e.name limit 10000) as parked) as parked,
        is_pending, l.holder
      from (select *, ${isPending} as is_pending from search_engines e) as e
        left join indexer_leases l on l.engine = e.name where e.name = any($1)`,
    values: [[index]],
    rows: [{ name: index, pending: 2, parked: 1, is_pending: true, holder: 'host, process 1' }],
  },
  {
    by: 'api',
    text: `select name, is_pending, engine.version, words.version is not null as words
      from search_words_version as words left join lateral (
        select *, ${isPending} as is_pending from search_engines e where name = any($1)
      ) as engine on true`,
    values: [[index]],
    rows: [{ name: index, is_pending: true, version: '0', words: true }],
  },
  {
    by: 'api',
    text: `update search_engines set used_at = now()
      where name = any($1) and used_at < now() + make_interval(secs => 5)`,
    values: [[index]],
  },
  { by: 'api', text: 'select * from search_engines where false' },
  // The end of a batch, and of a rebuild
  {
    text: `delete from parked_documents where engine = $1 and product_id = any($2::bigint[])`,
    values: [index, [product]],
  },
  {
    text: `delete from product_changes where id in (select id from product_changes)
      and engine = $1 and coalesce(product_id, '-1') = any($2::bigint[])`,
    values: [index, [product]],
  },
  {
    text: `update search_engines set version = version + is_writing::int, is_writing = false,
        pending = 0, settled_snapshot = $1::pg_snapshot, indexed_at = greatest(indexed_at, $2),
        last_task = $3, last_task_at = $4 where name = $5`,
    values: ['5:5:', new Date(0), 7, '2026-01-01', index],
  },
  {
    text: `update search_engines set shape = $1, index_name = $2, words = $3,
        database_identity = database_identity(),
        rebuild_asked_at = case when rebuild_asked_at > $4 then rebuild_asked_at end
      where name = $5`,
    values: ['1a2b', 'products', 'words of the company', new Date(0), index],
  },
  { text: 'update search_engines set rebuild_asked_at = now() where name = $1', values: [index] },
  {
    text: `select version, is_writing, last_task, last_task_at, words, index_name, rebuild_asked_at
        is not null as "isRequested" from search_engines where name = $1`,
    values: [index],
    rows: [
      {
        version: '1',
        is_writing: false,
        last_task: '7',
        last_task_at: '2026-01-01',
        words: 'words of the company',
        index_name: 'products',
        isRequested: true,
      },
    ],
  },
  // Removal of an unused index: unused-indexes.ts
  { text: 'delete from search_engines where name = $1', values: [index] },
  { text: 'select from indexer_leases where engine = $1', values: [index], rows: [] },
  { text: 'delete from product_changes where engine in ($1, $2)', values: [index, nextIndex] },
  { text: 'delete from parked_documents where engine in ($1, $2)', values: [index, nextIndex] },
]

t.test('statements of the older release work before and after the migration', async (t) => {
  const { url, db, programs } = await openBeforeMigration(t)
  const { id: product } = await db
    .insertInto('products')
    .values({ sku: 'A-1', name: 'Martillo' })
    .returning('id')
    .executeTakeFirstOrThrow()
  const run = async (phase: string) => {
    for (const [place, { by = 'indexer', text, values = [], rows }] of listStatements(
      product,
    ).entries()) {
      // Prepared statements, as in a process that runs on while the migration is applied.
      const result = await programs[by].query({ name: `statement ${place}`, text, values })
      if (rows) t.strictSame(JSON.parse(JSON.stringify(result.rows)), rows, `${phase}: ${text}`)
    }
  }
  await run('before')
  t.match(await applyNextMigration(db), '0051-')
  await run('right after the migration')
  await migrate(db)
  await grantRoles(db, logins)
  await run('with the grants of this release')
  await grantAsOlderRelease(db)
  await run('with the grants of the older release, after a roll back')

  const newcomer = await connect(t, buildRoleUrl(url, 'indexer'))
  await newcomer.query('select * from search_engines')
  t.equal((await newcomer.query('select from search_engines')).rows.length, 0)
})

t.test('both releases see one outbox, and exclude each other with one lease', async (t) => {
  const { db, programs } = await openBeforeMigration(t)
  const { indexer } = programs
  await indexer.query(`insert into search_engines (name) values ('${index}')`)
  await migrate(db)
  await grantRoles(db, logins)
  await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  const outbox = await new OutboxCursor(db, index).read(10)
  t.equal(outbox.changes.length, 1)
  const older = await indexer.query('select id, engine, product_id from product_changes')
  t.same(older.rows, [
    { id: outbox.changes[0]?.id, engine: index, product_id: outbox.changes[0]?.productId },
  ])

  const lease = await acquireLease(db, index, 'an indexer of this release')
  if (!lease) throw new Error('The lease was not free.')
  const select = `select fence from indexer_leases where engine = '${index}'`
  t.same((await indexer.query(select)).rows, [{ fence: lease.fencingToken }])
  const lockOrFail = async (statement: string) => {
    await indexer.query("set lock_timeout = '100ms'")
    return indexer.query(statement)
  }
  await executeUnderLease(db, lease, async () => {
    await t.rejects(lockOrFail(`${select} for update`), { code: '55P03' })
    await t.resolves(lockOrFail(`${select} for share`))
  })
  await indexer.query('begin')
  await indexer.query(`${select} for share`)
  await t.rejects(
    db.transaction().execute(async (transaction) => {
      await sql`set local lock_timeout = '100ms'`.execute(transaction)
      await sql`select from index_leases for update`.execute(transaction)
    }),
    { code: '55P03' },
  )
  await indexer.query('commit')
})

t.test('the migration waits for no table of the index while it holds another', async (t) => {
  const { url, db } = await openBeforeMigration(t)
  const reader = await connect(t, url)
  await reader.query('begin; select from search_engines')
  const startedAt = performance.now()
  await t.rejects(applyNextMigration(db), { cause: { code: '55P03' } })
  t.ok(performance.now() - startedAt < 5_000)
  await reader.query('select from product_changes; commit')
  t.match(await applyNextMigration(db), '0051-')
})

/** Opens a database of the older release, and connections of its programs. */
async function openBeforeMigration(t: Test) {
  // Creates the roles.
  await testDatabase(t)
  const url = await emptyDatabase(t)
  const db = openDatabase(url, { connections: 2 })
  t.teardown(() => db.destroy())
  await migrate(db, migrationBefore)
  await grantAsOlderRelease(db)
  const programs = {
    api: await connect(t, buildRoleUrl(url, 'api')),
    indexer: await connect(t, buildRoleUrl(url, 'indexer')),
  }
  return { url, db, programs }
}

async function grantAsOlderRelease(db: Database): Promise<void> {
  for (const [program, privileges] of Object.entries(olderGrants)) {
    const role = sql.id(logins[program as Program].name)
    await sql`revoke all on all tables in schema public from ${role}`.execute(db)
    for (const privilege of privileges)
      await sql`grant ${sql.raw(privilege)} to ${role}`.execute(db)
  }
}

async function connect(t: Test, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  return client
}
