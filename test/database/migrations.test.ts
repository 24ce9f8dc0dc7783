// Migrations and the recorded company: repeated, concurrent and failing runs, and the checks of the
// API at start-up.
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { migrate as migrateProgram } from '../../scripts/migrate.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { checkCompany, recordCompany } from '../../src/company/company-record.ts'
import type { FailoverPool } from '../../src/database/failover/failover-pool.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import {
  applyNextMigration,
  migrate,
  readPendingMigrations,
  readServerVersion,
  requireServerVersion,
  schemaMigration,
} from '../../src/database/run-migrations.ts'
import { deriveSearchKey } from '../../src/indexing/keys.ts'
import { company } from '../support/database/company.ts'
import { emptyDatabase, servers, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { runInProcess } from '../support/run-in-process.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

const root = join(import.meta.dirname, '../..')
const { baseCurrency, timeZone, seller } = company
const companyContent = { baseCurrency, timeZone, ...seller }
/** Two migrations as a later release could have them, and a program that applies them. */
const laterFolder = join(import.meta.dirname, 'later-migrations')
const laterMigrations = ['0002-customer-groups', '0003-known-customer-groups']
const laterProgram = 'test/database/apply-later-migrations.ts'

t.test(
  'creates the schema and the company in an empty database, and changes nothing on a second run',
  async (t) => {
    const { url, db } = await openEmptyDatabase(t)
    const pending = await readPendingMigrations(db)
    t.equal(pending[0], schemaMigration)
    t.same(await runMigrate(t, url), {
      status: 0,
      stdout: `Applied ${pending.join(', ')}.\n`,
      stderr: '',
    })
    t.strictSame(await readPendingMigrations(db), [])
    const before = await readInventory(db)
    t.same(await runMigrate(t, url), {
      status: 0,
      stdout: 'The schema is up to date.\n',
      stderr: '',
    })
    t.strictSame(await readInventory(db), before)
    t.strictSame(await db.selectFrom('company').selectAll().execute(), [
      { the_only_row: true, base_currency: 'EUR', time_zone: 'Europe/Madrid', seller },
    ])
  },
)

t.test('succeeds in four processes at once, which apply each migration once', async (t) => {
  const { url, db } = await openEmptyDatabase(t)
  const pending = await readPendingMigrations(db)
  const runs = await Promise.all(
    Array.from({ length: 4 }, () => runProgram(t, 'scripts/migrate.ts', url)),
  )
  t.strictSame(
    runs.map(({ status, stderr }) => ({ status, stderr })),
    Array.from({ length: 4 }, () => ({ status: 0, stderr: '' })),
  )
  const applied = runs.flatMap(({ stdout }) =>
    [...stdout.matchAll(/^Applied (.*)\.$/gm)].flatMap(([, names = '']) => names.split(', ')),
  )
  t.strictSame(applied.toSorted(), pending)

  const migratedOnce = await testDatabase(t)
  t.strictSame(
    await readInventory(db),
    await readInventory(migratedOnce.db),
    'the schema is the same as after a single run',
  )
})

t.test('prints the error of a migration that fails, and leaves nothing half done', async (t) => {
  const { url, db } = await openEmptyDatabase(t)
  await sql`create table quote_lines (note text)`.execute(db)
  t.same(await runMigrate(t, url), {
    status: 1,
    stdout: '',
    stderr: 'Migration 0001-schema failed: relation "quote_lines" already exists\n',
  })
  t.strictSame(
    (await readInventory(db)).filter((object) => !object.includes('kysely_')),
    ['column quote_lines.note text', 'table quote_lines'],
  )
  await sql`drop table quote_lines`.execute(db)
  t.equal((await runMigrate(t, url)).status, 0, 'succeeds afterwards')
})

t.test('keeps the migrations before one that fails', async (t) => {
  const { db } = await testDatabase(t)
  const reference = await testDatabase(t)
  await applyNextMigration(reference.db, laterFolder)
  await sql`create table customer_groups (note text)`.execute(db)
  await sql`create table customer_groups (note text)`.execute(reference.db)
  await t.rejects(migrate(db, laterFolder), {
    message:
      'Migration 0003-known-customer-groups failed: relation "customer_groups" already exists',
  })
  t.strictSame(await readInventory(db), await readInventory(reference.db))
  t.strictSame(await readPendingMigrations(db, laterFolder), ['0003-known-customer-groups'])
  await sql`drop table customer_groups`.execute(db)
  t.strictSame(await migrate(db, laterFolder), ['0003-known-customer-groups'])
  t.strictSame(await migrate(db, laterFolder), [])
})

t.test('an older release leaves newer migrations as they are, and runs', async (t) => {
  const { url, db } = await testDatabase(t)
  t.strictSame(await migrate(db, laterFolder), laterMigrations)
  const before = await readInventory(db)
  const { status, stdout } = await runMigrate(t, url)
  t.equal(status, 0)
  t.match(
    stdout,
    /newer release \(0002-customer-groups, 0003-known-customer-groups\)\. They are left as they are\./,
  )
  t.strictSame(await readInventory(db), before)
  const started = await runProgram(t, 'src/server.ts', url, undefined, 'Server listening')
  t.equal(started.status, 0)
  t.strictSame(await migrate(db, laterFolder), [], 'the newer release continues')
})

t.test('says what to do with a database from before version 1.0.0', async (t) => {
  const { url, db } = await openEmptyDatabase(t)
  await sql`create table kysely_migration (name text primary key, timestamp text)`.execute(db)
  await sql`insert into kysely_migration values ('0001-catalogue-and-quotes', 'x')`.execute(db)
  const stderr =
    /^This database was made by a development version before 1\.0\.0, .+`make clean`.+\n$/
  t.match(await runMigrate(t, url), { status: 1, stderr })
  t.match(await runProgram(t, 'src/server.ts', url), { status: 1, stderr })
})

t.test('accepts PostgreSQL 15 and newer, and says what to do about older versions', async (t) => {
  const { db } = await testDatabase(t)
  const version = await readServerVersion(db)
  t.ok(version >= 15, `the tests run on ${version}`)
  for (const accepted of [15, 16, 17, version]) requireServerVersion(accepted)
  t.throws(() => requireServerVersion(14), /PostgreSQL 14 is too old: the service needs 15/)
})

t.test('behind a lock, readers and writers wait for two seconds at most', async (t) => {
  const { url, db, pool } = await testDatabase(t)
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query('select count(*) from quotes')
  const program = await startProgram(t, laterProgram, url)
  const ended = new Promise((resolve) => program.once('exit', resolve))
  let stderr = ''
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const calls = keepReadingAndWriting(pool)
  await eventually(
    async () => stderr.match(/waiting for a lock/g)?.length ?? 0,
    (attempts) => attempts >= 2,
    60_000,
  )
  t.match(stderr, /waiting for a lock \(the oldest transaction is \d+ s old: PID \d+, /)
  t.strictSame(await readPendingMigrations(db, laterFolder), laterMigrations)
  await holder.query('commit')
  holder.release()
  t.equal(await ended, 0)
  const { failures, count, longestMs } = await calls.stop()
  t.comment(`${count} calls, of which the longest took ${Math.round(longestMs)} ms`)
  t.same(failures, [])
  // Two seconds for the lock, and as many for a slow machine. The reader stays for seven.
  t.ok(longestMs < 4_000, `the longest took ${longestMs} ms`)
  t.strictSame(await readPendingMigrations(db, laterFolder), [])
})

t.test('killed in the middle of a migration, the next run completes it', async (t) => {
  const { url, db, pool } = await testDatabase(t)
  const before = await readInventory(db)
  const calls = keepReadingAndWriting(pool)
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query('lock table quotes in row exclusive mode')
  const program = await startProgram(t, laterProgram, url)
  const hasBegun = await eventually(() => isMigrationWaiting(pool), Boolean, 60_000)
  t.ok(hasBegun, 'a migration waits in the middle of its transaction')
  await kill(program)
  await holder.query('commit')
  holder.release()
  t.strictSame(await readInventory(db), before, 'nothing is half done')

  const next = await startProgram(t, laterProgram, url)
  t.equal(await new Promise((resolve) => next.once('exit', resolve)), 0)
  t.strictSame(await readPendingMigrations(db, laterFolder), [])
  const { failures, count } = await calls.stop()
  t.same(failures, [], 'reads and writes of others succeed all the time')
  t.ok(count > 0)
})

t.test('starts the API only with all migrations and the recorded company', async (t) => {
  const empty = await emptyDatabase(t)
  t.match(await runProgram(t, 'src/server.ts', empty), {
    status: 1,
    stderr: /^The database lacks 0001-schema.*: run `make migrate`/,
  })

  const { url, db } = await testDatabase(t)
  await db.deleteFrom('company').execute()
  t.match(await runProgram(t, 'src/server.ts', url), {
    status: 1,
    stderr: /^The company is not recorded in the database yet: run `make migrate`/,
  })

  await recordCompany(db, company)
  const otherCurrency = companyFile(t, { ...companyContent, baseCurrency: 'USD' })
  const otherTimeZone = companyFile(t, { ...companyContent, timeZone: 'Atlantic/Canary' })
  const recorded = 'The data was recorded in EUR and Europe/Madrid'
  const message = new RegExp(`^${recorded}, but the company file says .*correct the company file`)
  const withOtherCurrency = await runProgram(t, 'src/server.ts', url, otherCurrency)
  t.match(withOtherCurrency, { status: 1, stderr: message }, 'another base currency')
  t.match(withOtherCurrency, { stderr: 'USD' })
  const withOtherTimeZone = await runProgram(t, 'src/server.ts', url, otherTimeZone)
  t.match(withOtherTimeZone, { status: 1, stderr: message }, 'another time zone')
  t.match(withOtherTimeZone, { stderr: 'Atlantic/Canary' })
  t.match(
    await runMigrate(t, url, otherCurrency),
    { status: 1, stderr: message },
    'scripts/migrate.ts does not change the base currency either',
  )
  await t.rejects(
    recordCompany(db, readCompany(otherTimeZone)),
    { message },
    'scripts/migrate.ts does not change the time zone either',
  )

  const started = await runProgram(
    t,
    'src/server.ts',
    url,
    companyFile(t, companyContent),
    'Server listening',
  )
  t.same(
    { ...started, stdout: '' },
    { status: 0, stdout: '', stderr: '' },
    'starts with the right company file, and stops on SIGTERM',
  )
})

t.test('updates the seller, but not the base currency and the time zone', async (t) => {
  const { db } = await testDatabase(t)
  const movedCompany = {
    ...company,
    seller: { ...seller, address: 'Calle Nueva, 2\n28001 Madrid' },
  }
  await recordCompany(db, movedCompany)
  await t.resolves(checkCompany(db, movedCompany))
  const otherCompany = { ...company, seller: { ...seller, address: 'Otra' } }
  for (const wrong of [
    { ...otherCompany, baseCurrency: 'GBP' },
    { ...otherCompany, timeZone: 'Europe/London' },
  ]) {
    await t.rejects(recordCompany(db, wrong), { message: /cannot change once there is data/ })
    await t.rejects(checkCompany(db, wrong), { message: /cannot change once there is data/ })
  }
  const recorded = await db.selectFrom('company').selectAll().execute()
  t.strictSame(recorded, [
    {
      the_only_row: true,
      base_currency: 'EUR',
      time_zone: 'Europe/Madrid',
      seller: movedCompany.seller,
    },
  ])

  await sql`update company set base_currency = 'USD'`.execute(db)
  const error = await checkCompany(db, company).catch((error: Error) => error.message)
  const [, repairSql = ''] = /put it back: (update company set .*)$/.exec(String(error)) ?? []
  await sql.raw(repairSql).execute(db)
  await t.resolves(checkCompany(db, company), 'the SQL in the error repairs a change by hand')
})

async function openEmptyDatabase(t: Test): Promise<{ url: string; db: Database }> {
  const url = await emptyDatabase(t)
  const db = openDatabase(url, { connections: 1 })
  t.teardown(() => db.destroy())
  return { url, db }
}

function companyFile(t: Test, content: unknown): string {
  const directory = createTemporaryDirectory(t, 'company')
  const file = join(directory, 'company.json')
  writeFileSync(file, JSON.stringify(content))
  return file
}

/** Runs a program of this project to its end, or sends SIGTERM when it has written `until`. */
/** Runs scripts/migrate.ts in this process. */
const runMigrate = (t: Test, databaseUrl: string, company = companyFile(t, companyContent)) =>
  runInProcess(migrateProgram, [], {
    env: { DATABASE_URL: databaseUrl, COMPANY_FILE: company },
  })

async function runProgram(
  t: Test,
  program: string,
  databaseUrl: string,
  company = companyFile(t, companyContent),
  until?: string,
) {
  const child = await startProgram(t, program, databaseUrl, company)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (until && stdout.includes(until)) child.kill('SIGTERM')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const status = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  )
  return { status, stdout, stderr }
}

async function startProgram(
  t: Test,
  program: string,
  databaseUrl: string,
  company = companyFile(t, companyContent),
) {
  const { meiliUrls, meiliMasterKey } = await servers()
  const child = spawn(process.execPath, [join(root, program)], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      COMPANY_FILE: company,
      MEILI_URL: meiliUrls[0],
      MEILI_SEARCH_KEY: deriveSearchKey(meiliMasterKey),
      PORT: '0',
      OPS_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Reads quotes and adds some until it is stopped. */
function keepReadingAndWriting(pool: FailoverPool) {
  const failures: string[] = []
  let count = 0
  let longestMs = 0
  let isOver = false
  const call = async (statement: string) => {
    while (!isOver) {
      const startedAt = performance.now()
      await pool.query(statement).then(
        () => {
          count += 1
        },
        (error: Error) => failures.push(error.message),
      )
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      await sleep(50)
    }
  }
  const calling = Promise.all([
    call('select count(*) from quotes'),
    call(`insert into quotes (number, status, currency, issued_on, net, gross)
      values (gen_random_uuid()::text, 'draft', 'EUR', '2026-03-01', 1, 1)`),
  ])
  return {
    async stop() {
      isOver = true
      await calling
      return { failures, count, longestMs }
    },
  }
}

/** Whether a session waits for a lock on quotes that readers and writers do not need. */
async function isMigrationWaiting(pool: FailoverPool): Promise<boolean> {
  const { rows } = await pool.query(`
    select from pg_locks
    where relation = 'quotes'::regclass and not granted
      and mode not in ('AccessShareLock', 'RowExclusiveLock')
      and database = (select oid from pg_database where datname = current_database())`)
  return rows.length > 0
}

async function kill(program: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => program.once('exit', resolve))
  program.kill('SIGKILL')
  await ended
}

/** Lists the tables, columns, indexes, constraints, triggers, functions and extensions. */
async function readInventory(db: Database): Promise<string[]> {
  const { rows } = await sql<{ object: string }>`
    with tables as (
      select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    )
    select format('table %s', oid::regclass) as object from tables
    union all
    select format('column %s.%s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod))
    from pg_attribute
    where attrelid in (select oid from tables) and attnum > 0 and not attisdropped
    union all
    select format('index %s', indexrelid::regclass) from pg_index
    where indrelid in (select oid from tables)
    union all
    select format('constraint %s %s', conrelid::regclass, conname) from pg_constraint
    where conrelid in (select oid from tables)
    union all
    select format('trigger %s %s', tgrelid::regclass, tgname) from pg_trigger
    where tgrelid in (select oid from tables) and not tgisinternal
    union all
    select format('function %s', oid::regprocedure) from pg_proc p
    where pronamespace = 'public'::regnamespace and not exists (
      select from pg_depend
      where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e'
    )
    union all
    select format('extension %s', extname) from pg_extension where extname <> 'plpgsql'
    order by 1`.execute(db)
  return rows.map(({ object }) => object)
}
