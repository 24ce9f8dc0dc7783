// The command scripts/import.ts: files, messages, exit statuses, rejected rows, and Ctrl+C.
import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import t from 'tap'
import { importFile } from '../../scripts/cli/import-file.ts'
import { openRejectsFile } from '../../scripts/cli/rejects-file.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'
import { readProducts } from './import-files.ts'
import { runScript, startScript } from './import-script.ts'

t.test('imports plain and gzipped files and standard input, and prints the counts', async (t) => {
  const database = await testDatabase(t)
  const folder = createTemporaryDirectory(t, 'import')
  const plainFile = join(folder, 'products.csv')
  await writeFile(plainFile, 'sku,name\nA,Hammer\nB,Saw\n')
  t.match(
    await importProductFile(database, plainFile),
    /^Read as UTF-8; cells separated by commas\.\n2 rows read, 0 rejected.*rows\/s.*\nproducts: 2 inserted, 0 updated, 0 unchanged\.$/,
  )
  const gzippedFile = join(folder, 'products.csv.gz')
  const parts = [gzipSync('sku,name\nA,Mallet\n'), gzipSync('C,Axe\n')]
  await writeFile(gzippedFile, Buffer.concat(parts))
  t.match(await importProductFile(database, gzippedFile), /1 inserted, 1 updated/)
  t.match(await importProductFile(database, '-', { input: 'sku,name\n' }), /nothing to import/)
  t.match(await runScript(['products', '-'], database.roles.importer, 'sku,name\nD,File\n'), {
    status: 0,
    stdout: /^Read as .*\n1 row read.*\nproducts: 1 inserted, .*\n$/,
  })
  t.equal((await readProducts(database)).length, 4)
})

t.test('reads large files from a disk and from standard input', async (t) => {
  const database = await testDatabase(t)
  const file = join(createTemporaryDirectory(t, 'import'), 'products.csv')
  const text = 'x'.repeat(9_000)
  const rows = Array.from({ length: 2_000 }, (_, n) => `S${n},"Tubo ""${n}""","${text}, ñ${n}"\n`)
  const content = `sku,name,description\n${rows.join('')}`
  await writeFile(file, content)
  t.ok(content.length > 17_000_000, 'more than is kept in memory')
  t.match(await importProductFile(database, file), /2,000 inserted/)
  t.match(await importProductFile(database, '-', { input: content }), /2,000 unchanged/)
  const { rows: found } = await sql`
    select count(*)::integer as right from products
    where name = 'Tubo "' || substr(sku, 2) || '"'
      and description = ${`${text}, ñ`} || substr(sku, 2)`.execute(database.db)
  t.same(found, [{ right: 2_000 }])
})

t.test('names the file that cannot be imported, and leaves the database unchanged', async (t) => {
  const database = await testDatabase(t)
  const folder = createTemporaryDirectory(t, 'import')
  const rows = Array.from({ length: 5_000 }, (_, index) => `S${index},Product ${index * 7919}`)
  const csv = `sku,name\n${rows.join('\n')}\n`
  const damaged = gzipSync(csv)
  damaged.fill(0x55, 10_000, 10_050)
  const cutMessage =
    /cut\.csv\.gz: The gzip is damaged or cut short \(.*\); [1-9]\d{3} lines of it were read/
  const cases: [name: string, content: string | Buffer, message: RegExp][] = [
    [
      'header.csv',
      'sku,colour\nA,red\n',
      /header\.csv: Line 1, the header, has unknown columns: "colour"/,
    ],
    ['cut.csv.gz', gzipSync(csv).subarray(0, -100), cutMessage],
    ['damaged.csv.gz', damaged, /damaged\.csv\.gz: (The gzip is damaged|Line \d+ )/],
    ['plain.csv.gz', csv, /plain\.csv\.gz: The file is named \.gz but is not gzip/],
    ['empty.csv', '', /empty\.csv: The file is empty/],
    ['empty.csv.gz', gzipSync(''), /empty\.csv\.gz: The file is empty/],
  ]
  for (const [name, content] of cases) await writeFile(join(folder, name), content)
  const failures: [file: string, message: RegExp, input?: string][] = [
    ...cases.map(([name, , message]): [string, RegExp] => [join(folder, name), message]),
    [join(folder, 'none.csv'), /none\.csv: There is no such file/],
    [folder, /is a directory/],
    ['-', /standard input: .*lacks required columns: sku/, 'name\nA\n'],
  ]
  await Promise.all(
    failures.map(async ([file, stderr, input]) =>
      t.match(
        await runScript(['products', file], database.roles.importer, input),
        { status: 1, stdout: '', stderr },
        file,
      ),
    ),
  )

  const invalidFile = join(folder, 'invalid.csv')
  await writeFile(invalidFile, 'sku,name\nA,Hammer\nB,\n')
  t.match(
    await runScript(['products', invalidFile], database.roles.importer),
    {
      status: 1,
      stdout: '',
      stderr: /invalid\.csv: One row is invalid, .*\n {2}line 3: name: is missing\n/,
    },
    'the script prints the error and exits with status 1',
  )
  t.same(await readProducts(database), [])

  await database.db.deleteFrom('company').execute()
  t.match(await runScript(['products', invalidFile], database.roles.importer), {
    status: 1,
    stderr: /make migrate/,
  })
})

t.test('explains wrong usage with status 2, and the columns with --help', async (t) => {
  const url = 'postgres://127.0.0.1:1/none'
  const [withoutFile, wrongKind, help] = await Promise.all([
    runScript(['products'], url),
    runScript(['invoices', 'a.csv'], url),
    runScript(['--help'], ''),
  ])
  t.match(withoutFile, { status: 2, stderr: /Name the file.*\nSee --help/ })
  t.match(wrongKind, {
    status: 2,
    stderr: /products, quotes, quote-statuses, synonyms, pins, hidden-words, and the file/,
  })
  t.match(help, {
    status: 0,
    stdout: /sku name description category brand supplier unit price currency/,
  })
})

t.test('writes the file of rejected rows only if there are some', async (t) => {
  const database = await testDatabase(t)
  const folder = createTemporaryDirectory(t, 'import')
  const rejectsName = join(folder, 'rejects.csv')
  const csv = join(folder, 'products.csv')
  await writeFile(csv, 'sku,name\nA,Hammer\nB,\n')
  const args = ['products', csv, '--rejects', rejectsName]
  t.match(await runScript(args, database.roles.importer), {
    status: 4,
    stdout: /2 rows read, 1 rejected.*\n.*1 inserted.*\n.*rejects\.csv/s,
  })
  t.equal(await readFile(rejectsName, 'utf8'), 'line,reason,sku,name\n3,name: is missing,B,\n')

  await writeFile(csv, 'sku,name\nA,Hammer\nB,Saw\n')
  t.match(await importProductFile(database, csv, { rejectsName }), /0 rejected/)
  t.same(await readdir(folder), ['products.csv'], 'neither the old file nor a temporary one')

  await writeFile(csv, 'sku;colour\nA;red\n')
  const failures: [rejectsName: string, message: RegExp][] = [
    [rejectsName, /unknown columns/],
    [csv, /is the file that is imported/],
    [join(folder, 'none', 'r.csv'), /cannot be written/],
  ]
  await Promise.all(
    failures.map(async ([rejects, stderr]) =>
      t.match(
        await runScript(['products', csv, '--rejects', rejects], database.roles.importer),
        { status: 1, stdout: '', stderr },
        rejects,
      ),
    ),
  )
  t.same(await readdir(folder), ['products.csv'])
})

for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)
  t.test(`exits with status ${status} on ${signal}, and imports nothing`, async (t) => {
    const database = await testDatabase(t)
    const folder = createTemporaryDirectory(t, 'import')
    const { child, exited } = startScript(
      ['products', '-', '--rejects', join(folder, 'rejects.csv')],
      database.roles.importer,
    )
    child.stdin.write('sku,name\nA,Hammer\n')
    await waitForImport(database)
    child.kill(signal)
    t.match(await exited, { status, stdout: '', stderr: /nothing was imported/ })
    t.same(await readProducts(database), [])
    t.same(await readdir(folder), [])
  })

t.test('shows which session an import waits for', async (t) => {
  const database = await testDatabase(t)
  const login = new URL(database.roles.importer).username
  const first = startScript(['products', '-'], database.roles.importer)
  first.child.stdin.write('sku,name\nA,Hammer\n')
  const holder = await waitForImport(database)
  const second = startScript(['products', '-'], database.roles.importer)
  second.child.stdin.end('sku,name\nA,Hammer\n')
  let shown = ''
  second.child.stderr?.on('data', (chunk) => {
    shown += chunk
  })
  await eventually(
    async () => shown,
    (text) => text.includes('waiting'),
  )
  t.match(
    shown,
    new RegExp(
      '^waiting for another import of products to end ' +
        `\\(process ${holder} of PostgreSQL, role ${login}, running for \\d+ s\\): 0 rows`,
    ),
  )
  first.child.stdin.end()
  t.match([await first.exited, await second.exited], [{ status: 0 }, { status: 0 }])
})

t.test('a second Ctrl+C ends an import that cannot be cancelled, without its file', async (t) => {
  const database = await testDatabase(t)
  const { db } = database
  const folder = createTemporaryDirectory(t, 'import')
  const lock = await database.pool.connect()
  await lock.query('select pg_advisory_lock(1)')
  await sql`create function ignore_cancel() returns trigger language plpgsql as ${sql.lit(
    `begin
      perform pg_sleep(300);
      return new;
    exception when query_canceled then
      perform pg_advisory_lock(1);
      return new;
    end`,
  )}`.execute(db)
  await sql`create trigger ignore_cancel before insert on products
    for each row execute function ignore_cancel()`.execute(db)
  const { child, exited } = startScript(
    ['products', '-', '--rejects', join(folder, 'rejects.csv')],
    database.roles.importer,
  )
  child.stdin.end('sku,name\nA,Hammer\nB,\n')
  const waitFor = (event: string) =>
    eventually(
      () =>
        sql`
          select from pg_stat_activity
          where datname = current_database() and wait_event = ${event}`.execute(db),
      ({ rows }) => rows.length === 1,
    )
  await waitFor('PgSleep')
  child.kill('SIGINT')
  await waitFor('advisory')
  child.kill('SIGINT')
  t.match(await exited, { status: 130, stdout: '' })
  t.same(await readdir(folder), [], 'the rejected rows are not left behind')
  await lock.query('select pg_advisory_unlock(1)')
  lock.release()
})

t.test(
  'removes the temporary files of killed imports, and says what it cannot remove',
  async (t) => {
    const folder = createTemporaryDirectory(t, 'import')
    const rejectsName = join(folder, 'rejects.csv')
    const ended = spawnSync(process.execPath, ['--version']).pid
    const names = [`rejects.csv.partial-${ended}`, `rejects.csv.partial-${process.ppid}`, 'other']
    await Promise.all(names.map((name) => writeFile(join(folder, name), 'A,Hammer\n')))
    const rejects = await openRejectsFile(rejectsName, '-')
    t.same(
      (await readdir(folder)).sort(),
      [...names.slice(1), `rejects.csv.partial-${process.pid}`].sort(),
      'another import that runs keeps its file',
    )
    rejects.stream.end()
    await finished(rejects.stream)
    await mkdir(rejectsName)
    await t.rejects(rejects.publish(0), {
      message: /^Everything was imported, but the older .*rejects\.csv could not be removed: /,
    })
    t.same((await readdir(folder)).sort(), ['other', 'rejects.csv', names[1]].sort())
  },
)

t.test('kill -9 at any moment leaves all of an import or nothing', async (t) => {
  const database = await testDatabase(t)
  const folder = createTemporaryDirectory(t, 'import')
  const oldRows = Array.from({ length: 2_000 }, (_, index) => `OLD-${index},Tubo\n`)
  const newRows = Array.from({ length: 20_000 }, (_, index) => `NEW-${index},Codo\n`)
  const file = join(folder, 'products.csv')
  await writeFile(file, `sku,name\n${newRows.join('')}`)
  const args = ['products', file, '--full', '--allow-removals', '100%']
  const readState = async () => {
    const { rows } = await sql<{ old: number; new: number }>`
      select count(*) filter (where active and sku like 'OLD-%')::integer as old,
        count(*) filter (where active and sku like 'NEW-%')::integer as new
      from products`.execute(database.db)
    return rows[0]
  }
  const backends = sql`
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and usename = ${new URL(database.roles.importer).username}`
  const outcomes = { nothing: 0, all: 0 }
  for (const delayMs of [250, 450, 700, 1_200]) {
    await database.db.deleteFrom('products').execute()
    await importProductFile(database, '-', { input: `sku,name\n${oldRows.join('')}` })
    const { child, exited } = startScript(args, database.roles.importer)
    setTimeout(() => child.kill('SIGKILL'), delayMs)
    await exited
    await eventually(
      () => backends.execute(database.db),
      ({ rows }) => rows.length === 0,
    )
    const state = await readState()
    const isAll = state?.new === 20_000
    outcomes[isAll ? 'all' : 'nothing'] += 1
    t.same(state, isAll ? { old: 0, new: 20_000 } : { old: 2_000, new: 0 }, `${delayMs} ms`)
  }
  t.ok(outcomes.nothing > 0, JSON.stringify(outcomes))
})

/** Waits until an import has its lock, and returns the process of PostgreSQL. */
async function waitForImport({ db }: TestDatabase): Promise<number | undefined> {
  const { rows } = await eventually(
    () =>
      sql<{ pid: number }>`
        select pid from pg_locks
        where locktype = 'advisory' and granted and objsubid = 1
          and database = (select oid from pg_database where datname = current_database())`.execute(
        db,
      ),
    ({ rows }) => rows.length === 1,
  )
  return rows[0]?.pid
}

/** Imports a product file as the script does, without a process of its own. */
async function importProductFile(
  { pool }: TestDatabase,
  file: string,
  { input = '', rejectsName }: { input?: string; rejectsName?: string } = {},
): Promise<string> {
  const standardInput = Readable.from([Buffer.from(input)])
  const { signal } = new AbortController()
  const request = { kind: 'products', file, standardInput, rejectsName, signal } as const
  return (await importFile(pool, request)).text
}
