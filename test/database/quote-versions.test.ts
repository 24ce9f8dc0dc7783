// The versions of a quote: a version that was sent supersedes the older ones, for any order of
// writes, by SQL and by import. At most one version of a number is current.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import t from 'tap'
import { openPool } from '../../src/database/postgres-pool.ts'
import { ImportError } from '../../src/imports/file-format.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { readStats } from '../../src/stats/read-stats.ts'
import { findSummaryDifferences } from '../../src/stats/summary/check-months.ts'
import { foldStatistics } from '../../src/stats/summary/fold-statistics.ts'
import { company } from '../support/database/company.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'

/**
 * Returns options of fast-check: `few` runs from `seed`. RANDOM_RUNS sets another number of runs,
 * with a new seed each time.
 */
function randomRuns(few: number, seed: number): { numRuns: number; seed?: number } {
  const { RANDOM_RUNS } = process.env
  return RANDOM_RUNS ? { numRuns: Number(RANDOM_RUNS) } : { numRuns: few, seed }
}

const statuses = [
  'draft',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'withdrawn',
  'superseded',
] as const
type Status = (typeof statuses)[number]
/** The status of each version, in an order of writing. Each accepted version adds 100 EUR. */
type Versions = readonly (readonly [version: number, status: Status])[]

/** Reads versions that are written as `readVersions` writes them. */
const parseVersions = (text: string): Versions =>
  text.split(', ').map((each) => {
    const [version, status] = each.split(' ')
    return [Number(version), status as Status]
  })

const database = await testDatabase(t)
const importerPool = openPool(database.roles.importer, { connections: 2 })
t.teardown(() => importerPool.end())
t.beforeEach(async () => {
  await database.db.deleteFrom('quotes').execute()
})

t.test('SQL and an import of the same versions have the same result', async (t) => {
  const histories: [title: string, writes: string[], result: string][] = [
    ['a newer draft', ['1 accepted', '2 draft'], '1 accepted, 2 draft'],
    ['the draft first', ['2 draft', '1 accepted'], '1 accepted, 2 draft'],
    ['sent', ['1 accepted', '2 sent'], '1 superseded, 2 sent'],
    ['the newer one first', ['2 sent', '1 accepted'], '1 superseded, 2 sent'],
    ['rejected', ['1 accepted', '2 rejected'], '1 superseded, 2 rejected'],
    ['expired', ['1 sent', '2 expired'], '1 superseded, 2 expired'],
    ['withdrawn', ['1 sent', '2 withdrawn'], '1 superseded, 2 withdrawn'],
    ['superseded itself', ['1 accepted', '2 superseded'], '1 accepted, 2 superseded'],
    ['accepted twice', ['1 accepted', '2 accepted'], '1 superseded, 2 accepted'],
    ['accepted twice at once', ['2 accepted, 1 accepted'], '1 superseded, 2 accepted'],
    ['a draft that is accepted', ['1 accepted, 2 draft', '2 accepted'], '1 superseded, 2 accepted'],
    ['an older draft', ['1 draft', '3 sent'], '1 superseded, 3 sent'],
    ['an older version again', ['1 accepted', '2 sent', '1 accepted'], '1 superseded, 2 sent'],
    ['a draft again', ['1 accepted', '2 sent', '2 draft'], '1 superseded, 2 draft'],
    [
      'withdrawn in favour of the older one',
      ['1 accepted', '2 rejected', '1 accepted, 2 superseded'],
      '1 accepted, 2 superseded',
    ],
  ]
  for (const [title, writes, result] of histories)
    for (const write of [writeVersions, importVersions]) {
      await database.db.deleteFrom('quotes').execute()
      for (const versions of writes) await write(parseVersions(versions))
      t.equal(await readVersions(), result, `${title}, ${write.name}`)
    }
})

t.test('random histories of writes follow the rule, and the statistics follow them', async (t) => {
  const write = fc.record({
    kind: fc.constantFrom('sql', 'sql', 'import', 'update', 'rollback', 'delete'),
    versions: fc.uniqueArray(
      fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom(...statuses)),
      {
        minLength: 1,
        maxLength: 4,
        selector: ([version]) => version,
      },
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 8 }), async (steps) => {
      await database.db.deleteFrom('quotes').execute()
      const expected = new Map<number, Status>()
      for (const { kind, versions } of steps) {
        if (kind === 'delete') await deleteVersions(expected, versions)
        else if (kind === 'rollback') await writeAndRollBack(versions)
        else if (kind === 'update') await updateVersions(expected, versions)
        else {
          await (kind === 'sql' ? writeVersions : importVersions)(versions)
          for (const [version, status] of versions) expected.set(version, status)
        }
        supersede(expected)
        await assertVersions(expected)
      }
    }),
    randomRuns(15, 20_261_122),
  )
  t.same(await findSummaryDifferences(database.db), [])
})

t.test('importing the same file again writes nothing', async (t) => {
  const versions = parseVersions('1 accepted, 2 sent, 3 draft')
  await importVersions(versions)
  t.match(await importVersions(versions), { unchanged: 3, superseded: 0 })
  t.equal(await readVersions(), '1 superseded, 2 sent, 3 draft')
})

t.test('counts the older versions that only the database has as superseded', async (t) => {
  await writeVersions(parseVersions('2 accepted, 3 draft'))
  t.match(
    await importVersions(parseVersions('2 accepted, 4 accepted')),
    { inserted: 1, updated: 1, superseded: 1 },
    'version 2 is in the file and counts as updated',
  )
  t.equal(await readVersions(), '2 superseded, 3 superseded, 4 accepted')
})

t.test('one statement writes versions of many numbers', async (t) => {
  const { db } = database
  await sql`
    insert into quotes (number, version, status, currency, rate, issued_on)
    select 'M-' || number, version, 'sent', 'EUR', 1, date '2026-03-01'
    from generate_series(1, 300) as number, generate_series(1, 3) as version
    order by md5(number::text || version::text)
  `.execute(db)
  const countVersions = async () =>
    (
      await sql<{ row: string }>`
        select concat_ws(' ', version, status, count(*)) as row
        from quotes group by version, status order by version, status
      `.execute(db)
    ).rows.map(({ row }) => row)
  t.same(await countVersions(), ['1 superseded 300', '2 superseded 300', '3 sent 300'])
  await sql`update quotes set status = 'accepted' where md5(number) < '8'`.execute(db)
  t.same(
    (await countVersions()).slice(0, 2),
    ['1 superseded 300', '2 superseded 300'],
    'an update of all versions',
  )
  t.same(await findSummaryDifferences(db), [])
})

t.test('a version follows its number, and leaves the versions of the old one', async (t) => {
  const { db } = database
  await writeVersions(parseVersions('1 accepted, 2 draft'))
  await sql`
    insert into quotes (number, version, status, currency, rate, issued_on)
    values ('Q-2', 3, 'sent', 'EUR', 1, '2026-03-01')
  `.execute(db)
  await sql`update quotes set number = 'Q-1' where number = 'Q-2'`.execute(db)
  t.equal(await readVersions(), '1 superseded, 2 superseded, 3 sent')
  await sql`update quotes set number = 'Q-2' where version = 3`.execute(db)
  t.equal(await readVersions(), '1 superseded, 2 superseded')
  await sql`update quotes set version = 4, status = 'sent' where version = 2`.execute(db)
  await sql`update quotes set version = 9, status = 'accepted' where version = 1`.execute(db)
  t.equal(await readVersions(), '4 superseded, 9 accepted')
})

t.test('replicated changes follow the rule, for any order', async (t) => {
  const { db, pool } = database
  const client = await pool.connect()
  try {
    // As the worker of a subscription does.
    await client.query('set session_replication_role = replica')
    const insert = (version: number, status: Status) =>
      client.query(
        `insert into quotes (number, version, status, currency, rate, issued_on, net, gross)
         values ('Q-1', $1, $2, 'EUR', 1, '2026-03-01', 100, 100)`,
        [version, status],
      )
    await insert(2, 'draft')
    await insert(1, 'accepted')
    t.equal(await readVersions(), '1 accepted, 2 draft')
    await client.query("update quotes set status = 'accepted' where version = 2")
    await client.query("update quotes set status = 'accepted' where version = 1")
    t.equal(await readVersions(), '1 superseded, 2 accepted')
    t.equal(await readRevenue(), '100.00')
    t.same(await findSummaryDifferences(db), [])
  } finally {
    await client.query('reset session_replication_role')
    client.release()
  }
})

t.test('a writer without the right to change other columns supersedes as well', async (t) => {
  const { db, pool } = database
  await writeVersions(parseVersions('1 accepted'))
  const role = `writer_${randomBytes(6).toString('hex')}`
  await sql`
    create role ${sql.id(role)}; grant insert on quotes to ${sql.id(role)}
  `.execute(db)
  const client = await pool.connect()
  try {
    await client.query(`set role ${role}`)
    await client.query(
      `insert into quotes (number, version, status, currency, rate, issued_on)
       values ('Q-1', 2, 'sent', 'EUR', 1, '2026-03-01')`,
    )
  } finally {
    await client.query(`reset role; drop owned by ${role}; drop role ${role}`)
    client.release()
  }
  t.equal(await readVersions(), '1 superseded, 2 sent')
})

t.test('two sessions that accept two versions at once leave one accepted', async (t) => {
  const accept = (version: number) =>
    `update quotes set status = 'accepted' where number = 'Q-1' and version = ${version}`
  for (const order of [
    [1, 2],
    [2, 1],
  ]) {
    await database.db.deleteFrom('quotes').execute()
    await writeVersions(parseVersions('1 sent, 2 draft'))
    await withTwoSessions(async (first, second) => {
      await first.query(accept(order[0] ?? 0))
      const waiting = second.query(accept(order[1] ?? 0))
      await untilSessionWaits()
      await first.query('commit')
      await waiting
      await second.query('commit')
    })
    t.equal(await readVersions(), '1 superseded, 2 accepted', `in the order ${order}`)
  }
})

t.test('of two sessions that insert two versions of a new number, one is refused', async (t) => {
  for (const status of ['accepted', 'sent'])
    for (const [earlier, later] of [
      [1, 2],
      [2, 1],
    ]) {
      await database.db.deleteFrom('quotes').execute()
      const insert = (version = 0) =>
        `insert into quotes (number, version, status, currency, rate, issued_on)
         values ('Q-1', ${version}, '${status}', 'EUR', 1, '2026-03-01')`
      await withTwoSessions(async (first, second) => {
        await first.query(insert(earlier))
        await second.query(insert(later))
        await first.query('commit')
        await t.rejects(second.query('commit'), {
          code: '23P01',
          constraint: 'quotes_one_current_version',
          detail: 'Key (number)=(Q-1) conflicts with existing key (number)=(Q-1).',
        })
        await second.query(`begin; ${insert(later)}; commit`)
      })
      t.equal(
        await readVersions(),
        `1 superseded, 2 ${status}`,
        `the second attempt succeeds, version ${later} after ${earlier}`,
      )
    }
})

t.test(
  'a version that was sent meanwhile supersedes what the other session reinstates',
  async (t) => {
    await writeVersions(parseVersions('1 superseded, 2 draft'))
    await withTwoSessions(async (first, second) => {
      await first.query("update quotes set status = 'sent' where version = 2")
      await second.query("update quotes set status = 'accepted' where version = 1")
      await first.query('commit')
      await t.rejects(second.query('commit'), /quotes_one_current_version/)
    })
    t.equal(await readVersions(), '1 superseded, 2 sent')
  },
)

t.test('an import names the quote whose other version was written meanwhile', async (t) => {
  const { pool } = database
  const other = await pool.connect()
  try {
    await other.query(
      `begin; insert into quotes (number, version, status, currency, rate, issued_on)
       values ('Q-1', 2, 'accepted', 'EUR', 1, '2026-03-01')`,
    )
    const importing = importVersions(parseVersions('1 accepted')).catch((error: unknown) => error)
    await untilSessionWaits()
    await other.query('commit')
    const error = await importing
    t.type(error, ImportError)
    t.match(error, {
      message: /Another program changed .*quotes_one_current_version.*\(Q-1\).* run it again/,
    })
    t.equal(await readVersions(), '2 accepted')
    await importVersions(parseVersions('1 accepted'))
    t.equal(await readVersions(), '1 superseded, 2 accepted')
  } finally {
    other.release()
  }
})

t.test('a bulk insert never scans the table, whatever the session did before', async (t) => {
  const client = await database.pool.connect()
  try {
    await client.query('begin; truncate quotes cascade')
    const insert = (from: number, to: number) =>
      client.query(
        `insert into quotes (number, status, currency, rate, issued_on)
         select 'B-' || n, 'sent', 'EUR', 1, '2026-03-01' from generate_series($1::int, $2) as n`,
        [from, to],
      )
    const countScans = async () =>
      (
        await client.query<{ scans: string }>(
          `select seq_scan as scans from pg_stat_xact_user_tables where relname = 'quotes'`,
        )
      ).rows[0]?.scans
    // Plans of the trigger are cached while the table is small.
    for (let single = 0; single < 10; single++) await insert(single, single)
    await client.query('analyze quotes')
    for (let single = 10; single < 20; single++) await insert(single, single)
    const before = await countScans()
    await insert(100, 300)
    t.equal(await countScans(), before)
  } finally {
    await client.query('rollback')
    client.release()
  }
})

/** Inserts or updates the versions of quote Q-1 in one statement. */
async function writeVersions(versions: Versions): Promise<void> {
  await insertVersions(versions).execute(database.db)
}

function insertVersions(versions: Versions) {
  return sql`
    insert into quotes (number, version, status, currency, rate, issued_on, net, gross)
    values ${sql.join(
      versions.map(
        ([version, status]) =>
          sql`('Q-1', ${version}::integer, ${status}, 'EUR', 1, '2026-03-01', 100, 100)`,
      ),
    )}
    on conflict (number, version) do update set status = excluded.status`
}

/** Imports a file with the versions of quote Q-1, with the rights of the importer. */
async function importVersions(versions: Versions) {
  const header = 'number,version,status,issued_on,currency,description,quantity,unit_price'
  const rows = versions.map(
    ([version, status]) => `Q-1,${version},${status},2026-03-01,EUR,Hammer,1,100`,
  )
  return importQuotes(importerPool, Readable.from([[header, ...rows].join('\n')]))
}

/** Updates the existing ones of these versions in one statement. */
async function updateVersions(expected: Map<number, Status>, versions: Versions): Promise<void> {
  await sql`
    update quotes set status = written.status
    from (values ${sql.join(
      versions.map(([version, status]) => sql`(${version}::integer, ${status})`),
    )}) as written (version, status)
    where quotes.version = written.version
  `.execute(database.db)
  for (const [version, status] of versions) if (expected.has(version)) expected.set(version, status)
}

async function deleteVersions(expected: Map<number, Status>, versions: Versions): Promise<void> {
  const deleted = versions.map(([version]) => version)
  await database.db.deleteFrom('quotes').where('version', 'in', deleted).execute()
  for (const version of deleted) expected.delete(version)
}

async function writeAndRollBack(versions: Versions): Promise<void> {
  const rolledBack = database.db.transaction().execute(async (transaction) => {
    await insertVersions(versions).execute(transaction)
    throw new Error('rolled back')
  })
  await rolledBack.catch((error: Error) => {
    if (error.message !== 'rolled back') throw error
  })
}

/** The rule, written independently: versions below the newest that was sent are superseded. */
function supersede(versions: Map<number, Status>): void {
  const sent = [...versions].filter(([, status]) => !['draft', 'superseded'].includes(status))
  const newest = Math.max(0, ...sent.map(([version]) => version))
  for (const version of versions.keys()) if (version < newest) versions.set(version, 'superseded')
}

/** Throws if the versions are not these after applying the rule, or revenue does not follow. */
async function assertVersions(versions: Map<number, Status>): Promise<void> {
  const expected = new Map(versions)
  supersede(expected)
  const text = [...expected]
    .toSorted(([version], [other]) => version - other)
    .map((entry) => entry.join(' '))
    .join(', ')
  assert.equal(await readVersions(), text)
  const accepted = [...expected.values()].filter((status) => status === 'accepted').length
  assert.ok(accepted <= 1)
  assert.equal(await readRevenue(), `${accepted * 100}.00`)
}

async function readVersions(): Promise<string> {
  const rows = await database.db
    .selectFrom('quotes')
    .select(['version', 'status'])
    .where('number', '=', 'Q-1')
    .orderBy('version')
    .execute()
  return rows.map(({ version, status }) => `${version} ${status}`).join(', ')
}

/** Folds before. */
async function readRevenue(): Promise<string> {
  await foldStatistics(database.db)
  return (await readStats(database.db, company, { date: 'issued' })).stats.revenue.total.amount
}

/** Runs `work` with two sessions that have begun a transaction. */
async function withTwoSessions(
  work: (first: PoolClient, second: PoolClient) => Promise<void>,
): Promise<void> {
  const clients = [await database.pool.connect(), await database.pool.connect()] as const
  try {
    for (const client of clients) await client.query('begin')
    await work(...clients)
  } finally {
    for (const client of clients) {
      await client.query('rollback')
      client.release()
    }
  }
}

/** Waits until a session of this database waits for a lock. */
async function untilSessionWaits(): Promise<void> {
  await eventually(() => isAnySessionWaiting(database.db), Boolean)
}
