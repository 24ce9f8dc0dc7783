// Migrations and the company that is recorded with them: run twice, at once, against a conflict; and what the API refuses to start on.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { checkCompany, readCompany, recordCompany } from '../../src/company/company.ts'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate, pendingMigrations } from '../../src/database/run-migrations.ts'
import { searchKey } from '../../src/indexing/engine-keys.ts'
import { company, emptyDatabase, servers, testDatabase } from '../support/test-service.ts'

const root = join(import.meta.dirname, '../..')
const { baseCurrency, timeZone, seller } = company
const companyContent = { baseCurrency, timeZone, ...seller }
const all = readdirSync(join(root, 'src/database/migrations'))
  .map((file) => file.replace(/\.ts$/, ''))
  .toSorted()

t.test(
  'an empty database gets the schema and the company; a second run changes nothing',
  async (t) => {
    const { url, db } = await openEmptyDatabase(t)
    t.strictSame(await pendingMigrations(db), all)
    t.same(await run(t, 'scripts/migrate.ts', url), {
      status: 0,
      stdout: `Applied ${all.join(', ')}.\n`,
      stderr: '',
    })
    t.strictSame(await pendingMigrations(db), [])
    const before = await inventory(db)
    t.same(await run(t, 'scripts/migrate.ts', url), {
      status: 0,
      stdout: 'The schema is up to date.\n',
      stderr: '',
    })
    t.strictSame(await inventory(db), before)
    t.strictSame(await db.selectFrom('company').selectAll().execute(), [
      { the_only_row: true, base_currency: 'EUR', time_zone: 'Europe/Madrid', seller },
    ])
  },
)

t.test('four processes at once all succeed, and one of them did it', async (t) => {
  const { url, db } = await openEmptyDatabase(t)
  const runs = await Promise.all(Array.from({ length: 4 }, () => run(t, 'scripts/migrate.ts', url)))
  t.strictSame(
    runs.map(({ status, stderr }) => ({ status, stderr })),
    Array.from({ length: 4 }, () => ({ status: 0, stderr: '' })),
  )
  t.equal(runs.filter(({ stdout }) => stdout.startsWith('Applied')).length, 1)

  const once = await openEmptyDatabase(t)
  await migrate(once.db)
  await recordCompany(once.db, company)
  t.strictSame(await inventory(db), await inventory(once.db), 'the schema is that of a single run')
})

for (const [table, migration] of Object.entries({
  quotes: '0001-catalogue-and-quotes',
  api_keys: '0004-api-keys',
})) {
  t.test(
    `a migration that fails, because there is a table ${table} already, leaves nothing behind`,
    async (t) => {
      const { url, db } = await openEmptyDatabase(t)
      await sql`create table ${sql.table(table)} (note text)`.execute(db)
      const { status, stdout, stderr } = await run(t, 'scripts/migrate.ts', url)
      t.equal(status, 1)
      t.equal(stdout, '')
      t.match(
        stderr,
        new RegExp(`^Migration ${migration} failed: relation "${table}" already exists\n$`),
      )
      t.strictSame(
        (await inventory(db)).filter((thing) => !thing.includes('kysely_')),
        [`column ${table}.note text`, `table ${table}`],
      )
      t.strictSame(await pendingMigrations(db), all)

      await sql`drop table ${sql.table(table)}`.execute(db)
      t.match(
        await run(t, 'scripts/migrate.ts', url),
        { status: 0, stdout: /^Applied/ },
        'and once it is out of the way, a run succeeds',
      )
      t.strictSame(await pendingMigrations(db), [])
    },
  )
}

t.test('the API starts on what is migrated and recorded, and on nothing else', async (t) => {
  const { url, db } = await openEmptyDatabase(t)
  t.match(await run(t, 'src/server.ts', url), {
    status: 1,
    stderr: new RegExp(`^The database lacks ${all.join(', ')}: run \`make migrate\``),
  })

  await migrate(db)
  t.match(await run(t, 'src/server.ts', url), {
    status: 1,
    stderr: /^The company is not recorded in the database yet: run `make migrate`/,
  })

  await recordCompany(db, company)
  for (const [field, value] of Object.entries({
    baseCurrency: 'USD',
    timeZone: 'Atlantic/Canary',
  })) {
    const other = companyFile(t, { ...companyContent, [field]: value })
    const refused = {
      status: 1,
      stderr:
        /^The data was recorded in EUR and Europe\/Madrid, but the company file says .*correct the company file/,
    }
    t.match(await run(t, 'src/server.ts', url, other), refused, `${field} ${value}`)
    t.match(await run(t, 'src/server.ts', url, other), { stderr: value })
    t.match(
      await run(t, 'scripts/migrate.ts', url, other),
      refused,
      'which scripts/migrate.ts does not change either',
    )
  }

  const started = await run(
    t,
    'src/server.ts',
    url,
    companyFile(t, companyContent),
    'Server listening',
  )
  t.same(
    { ...started, stdout: '' },
    { status: 0, stdout: '', stderr: '' },
    'with the right ones it starts, and stops when it is told to',
  )
})

t.test('the seller block is renewed, base currency and time zone are not', async (t) => {
  const { db } = await testDatabase(t)
  const moved = { ...company, seller: { ...seller, address: 'Calle Nueva, 2\n28001 Madrid' } }
  await recordCompany(db, moved)
  await t.resolves(checkCompany(db, moved))
  const other = { ...company, seller: { ...seller, address: 'Otra' } }
  for (const wrong of [
    { ...other, baseCurrency: 'GBP' },
    { ...other, timeZone: 'Europe/London' },
  ]) {
    await t.rejects(recordCompany(db, wrong), { message: /cannot change once there is data/ })
    await t.rejects(checkCompany(db, wrong), { message: /cannot change once there is data/ })
  }
  const recorded = await db.selectFrom('company').selectAll().execute()
  t.strictSame(recorded, [
    { the_only_row: true, base_currency: 'EUR', time_zone: 'Europe/Madrid', seller: moved.seller },
  ])

  await sql`update company set base_currency = 'USD'`.execute(db)
  const refusal = await checkCompany(db, company).catch((error: Error) => error.message)
  const [, mend = ''] = /put it back: (update company set .*)$/.exec(String(refusal)) ?? []
  await sql.raw(mend).execute(db)
  await t.resolves(checkCompany(db, company), 'what the refusal says mends a change by hand')
})

t.test('everything wrong with a company file is said at once', async (t) => {
  const { taxId: _, ...withoutTaxId } = companyContent
  const bank = { ...seller.bank, iban: 'ES91 2100 0418 4502 0005 1333' }
  const bad = companyFile(t, {
    ...withoutTaxId,
    bank,
    baseCurrency: 'XBT',
    timeZone: 'Europe/Springfield',
    fax: '1',
  })
  const said = problemsOf(bad)
  t.match(said, `The company file ${bad} is not valid:\n`)
  for (const problem of [
    /^ {2}\/taxId: Expected required property$/m,
    /^ {2}\/fax: Unexpected property$/m,
    /^ {2}\/baseCurrency: XBT is not an ISO 4217 currency$/m,
    /^ {2}\/timeZone: Europe\/Springfield is not an IANA time zone/m,
    /^ {2}\/bank\/iban: the check digits are wrong/m,
  ])
    t.match(said, problem)

  t.match(
    problemsOf(companyFile(t, { ...companyContent, website: 'javascript:alert(1)' })),
    /\/website/,
    'S23: only http and https',
  )
  t.match(problemsOf(companyFile(t, [])), /is not valid/)
  t.match(problemsOf(companyFile(t, null)), /is not valid/)
  t.match(problemsOf(join(root, 'LICENSE')), /cannot be read as JSON/)
  t.match(
    problemsOf('/nowhere/company.json'),
    /^COMPANY_FILE: there is no \/nowhere\/company\.json\. Copy company\.example\.json there/,
  )
  t.strictSame(readCompany(companyFile(t, companyContent)), company, 'a good one is read as it is')
  t.strictSame(
    readCompany(companyFile(t, { ...companyContent, bank: null, website: null })).seller.bank,
    null,
    'a company may have no bank',
  )

  const { url, db } = await openEmptyDatabase(t)
  t.match(await run(t, 'scripts/migrate.ts', url, bad), { status: 1, stderr: /\/taxId/ })
  t.strictSame(await inventory(db), [], 'and nothing is migrated for it')
})

async function openEmptyDatabase(t: Test): Promise<{ url: string; db: Database }> {
  const url = await emptyDatabase(t)
  const db = openDatabase(url, { connections: 1 })
  t.teardown(() => db.destroy())
  return { url, db }
}

function companyFile(t: Test, content: unknown): string {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-company-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'company.json')
  writeFileSync(file, JSON.stringify(content))
  return file
}

function problemsOf(file: string): string {
  try {
    readCompany(file)
    return 'nothing'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Runs a program of this project to its end; one that would go on is told to stop once it has written `until`. */
async function run(
  t: Test,
  program: string,
  databaseUrl: string,
  company = companyFile(t, companyContent),
  until?: string,
) {
  const { meiliUrls, meiliMasterKey } = await servers()
  const child = spawn(process.execPath, [join(root, program)], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      COMPANY_FILE: company,
      MEILI_URL: meiliUrls[0],
      MEILI_SEARCH_KEY: searchKey(meiliMasterKey),
      PORT: '0',
      OPS_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
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

/** Everything that a migration could leave: tables with their columns, indexes, constraints, triggers, functions, extensions. */
async function inventory(db: Database): Promise<string[]> {
  const { rows } = await sql<{ thing: string }>`
    with mine as (select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r')
    select format('table %s', oid::regclass) as thing from mine
    union all select format('column %s.%s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod)) from pg_attribute
      where attrelid in (select oid from mine) and attnum > 0 and not attisdropped
    union all select format('index %s', indexrelid::regclass) from pg_index where indrelid in (select oid from mine)
    union all select format('constraint %s %s', conrelid::regclass, conname) from pg_constraint where conrelid in (select oid from mine)
    union all select format('trigger %s %s', tgrelid::regclass, tgname) from pg_trigger where tgrelid in (select oid from mine) and not tgisinternal
    union all select format('function %s', oid::regprocedure) from pg_proc p where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
    union all select format('extension %s', extname) from pg_extension where extname <> 'plpgsql'
    order by 1`.execute(db)
  return rows.map(({ thing }) => thing)
}
