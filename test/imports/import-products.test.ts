// The import of products: what is written, and which rows are rejected. It is all or nothing.
import { PassThrough, Writable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { ImportError } from '../../src/imports/file-format.ts'
import { importProducts } from '../../src/imports/import-products.ts'
import type { ImportStep } from '../../src/imports/import-transaction.ts'
import { fileColumns } from '../../src/products/fields.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import {
  collectRejectedRows,
  csvFile,
  deleteProducts,
  readEveryRow,
  readImportError,
  readProducts,
} from './import-files.ts'

const database = await testDatabase(t)
t.beforeEach(() => deleteProducts(database))

t.test(
  'inserts new products, updates changed ones, and does not write unchanged ones',
  async (t) => {
    const { db, pool } = database
    await db
      .insertInto('search_indexes')
      .values({ registration_name: 'main', indexed_at: null })
      .execute()
    const header =
      'sku,name,description,category,brand,unit,price,currency,hs_code,origin_country,active'
    const summary = await importProducts(
      pool,
      csvFile(`${header}
AB-1,Hammer,"Steel, 300 g",Tools,Ejemplo,C62,12.50,EUR,820520,ES,true
AB-2,Camión de juguete,,,,,,,,,no
AB-3,Peso,,,,,0.0835,EUR,,,
`),
    )
    t.match(summary, { read: 3, inserted: 3, updated: 0, unchanged: 0, rejected: 0 })
    const emptyColumns = {
      description: null,
      category: null,
      brand: null,
      unit: null,
      hs_code: null,
      origin_country: null,
    }
    t.same(await readProducts(database), [
      {
        sku: 'AB-1',
        name: 'Hammer',
        description: 'Steel, 300 g',
        category: 'Tools',
        brand: 'Ejemplo',
        unit: 'C62',
        price: '12.50',
        currency: 'EUR',
        hs_code: '820520',
        origin_country: 'ES',
        active: true,
      },
      {
        ...emptyColumns,
        sku: 'AB-2',
        name: 'Camión de juguete',
        price: null,
        currency: null,
        active: false,
      },
      {
        ...emptyColumns,
        sku: 'AB-3',
        name: 'Peso',
        price: '0.0835',
        currency: 'EUR',
        active: true,
      },
    ])

    const before = await readEveryRow(database)
    const sameProducts = `${header}
AB-3,Peso,,,,,0.08350,EUR,,,yes
AB-1,Hammer,"Steel, 300 g",Tools,Ejemplo,C62,12.5,EUR,820520,ES,1
AB-2,Camión de juguete,,,,,,,,,false
`
    t.match(await importProducts(pool, csvFile(sameProducts)), {
      read: 3,
      inserted: 0,
      updated: 0,
      unchanged: 3,
      rejected: 0,
    })
    t.same(await readEveryRow(database), before, 'no row was written')

    const changed = sameProducts.replace('Peso', 'Pesa').replace('AB-2,Camión', 'AB-4,Camión')
    t.match(await importProducts(pool, csvFile(changed)), {
      read: 3,
      inserted: 1,
      updated: 1,
      unchanged: 1,
      rejected: 0,
    })
    t.equal(
      (await readEveryRow(database)).changes.length,
      before.changes.length + 2,
      'two products are queued for the index',
    )
  },
)

t.test(
  'accepts the words of the column active in English, in Spanish and as digits, in any case',
  async (t) => {
    const words = {
      yes: ['TRUE', 'Yes', 'sí', 'SÍ', 'Si', 'si\u0301', 'VERDADERO', '1', ''],
      no: ['False', 'NO', 'falso', 'FALSO', '0'],
    }
    const all = [...words.yes, ...words.no]
    await importProducts(
      database.pool,
      csvFile(
        `sku,name,active\n${all.map((word, index) => `S${index},Hammer,${word}\n`).join('')}`,
      ),
    )
    const active = (await readProducts(database)).map((product) => product.active)
    t.same(active, [...words.yes.map(() => true), ...words.no.map(() => false)])
  },
)

t.test(
  'keeps the values of columns that the file does not have, and empties those of empty cells',
  async (t) => {
    await importProducts(
      database.pool,
      csvFile('sku,name,brand,price,currency,active\nA,Hammer,Ejemplo,1,EUR,false\n'),
    )
    await importProducts(database.pool, csvFile('sku,name,description\nA,Mallet,Wooden\n'))
    t.match(await readProducts(database), [
      { name: 'Mallet', description: 'Wooden', brand: 'Ejemplo', price: '1', active: false },
    ])
    await importProducts(
      database.pool,
      csvFile('sku,name,brand,price,currency,active\nA,Mallet,,,,\n'),
    )
    t.match(await readProducts(database), [
      { description: 'Wooden', brand: null, price: null, currency: null, active: true },
    ])
  },
)

t.test('rejects an invalid row with its line, its column and the reason', async (t) => {
  const header = fileColumns.join(',')
  const goodRow = { sku: 'B', name: 'Saw', price: '1', currency: 'EUR' }
  const cases: [cells: Partial<Record<(typeof fileColumns)[number], string>>, problem: string][] = [
    [{ sku: '' }, 'sku: is missing'],
    [{ name: ' ' }, 'name: is missing'],
    [{ sku: 'x'.repeat(101) }, 'sku: has 101 characters: at most 100 are allowed'],
    [{ name: 'ñ'.repeat(501) }, 'name: has 501 characters'],
    [{ description: '😀'.repeat(10_001) }, 'description: has 10001 characters'],
    [{ category: 'x'.repeat(201) }, 'category: has 201 characters'],
    [{ brand: 'x'.repeat(201) }, 'brand: has 201 characters'],
    [{ unit: 'barril' }, 'unit: "barril" is not a UN/ECE Recommendation 20 code'],
    [{ price: '1,5,0' }, 'price: "1,5,0" is not a number with a decimal point'],
    [{ price: '1e3' }, 'price: "1e3" is not a number with a decimal point'],
    [{ price: '1.00.000' }, 'price: "1.00.000" is not a number'],
    [{ price: 'NaN' }, 'price: "NaN" is not a number'],
    [{ price: 'Infinity' }, 'price: "Infinity" is not a number'],
    [{ price: '.' }, 'price: "." is not a number'],
    [{ price: '١' }, 'price: "١" is not a number'],
    [{ price: '-1' }, 'price: "-1" must be 0 or more'],
    [
      { price: '0.12345' },
      'price: "0.12345" must be 0 or more and below 1000000000000000, with at most 4 decimals',
    ],
    [{ price: '1000000000000000' }, 'price: "1000000000000000" must be'],
    [{ price: '9'.repeat(200) }, `price: "${'9'.repeat(60)}…" must be`],
    [{ currency: 'XXX' }, 'currency: "XXX" is not an ISO 4217 currency'],
    [{ currency: '' }, 'currency: is missing: a price needs its currency'],
    [{ price: '' }, 'price: is missing: a currency needs its price'],
    [{ hs_code: '8205.20' }, 'hs_code: "8205.20" is not an HS code'],
    [{ origin_country: 'UK' }, 'origin_country: "UK" is not an ISO 3166-1 alpha-2 country'],
    [
      { active: 'maybe' },
      'active: "maybe" is not one of true, yes, sí, si, verdadero, 1, false, no, falso, 0',
    ],
  ]
  for (const [cells, problem] of cases) {
    const row = fileColumns.map((column) => `"${{ ...goodRow, ...cells }[column] ?? ''}"`).join(',')
    t.match(
      await readImportError(t, database, `${header}\nA,Hammer,,,,,,,,,\n${row}\n`),
      `line 3: ${problem}`,
      problem,
    )
  }
  const twoRows = await readImportError(
    t,
    database,
    'sku,name,unit,price,currency\nA,,barril,1,EUR\nB,Saw,C62,-1,EURO\n',
  )
  t.match(
    twoRows,
    '2 rows are invalid, so nothing was imported:\n' +
      '  line 2: name: is missing; unit: "barril" is not',
  )
  t.match(twoRows, /line 3: price: "-1" .*; currency: "EURO"/)
  t.match(twoRows, '--rejects')
})

t.test('accepts the longest texts and the largest amounts that the schema allows', async (t) => {
  const widest = [
    'x'.repeat(100),
    '😀'.repeat(500),
    '😀'.repeat(10_000),
    'c'.repeat(200),
    'b'.repeat(200),
    's'.repeat(200),
    'C62',
  ]
  const amounts = ['999999999999999.9999', 'CLF', '123456789012', 'ES', 'true']
  const rows = [
    ...[[...widest, ...amounts]],
    ['B', 'Zeros', '', '', '', '', '', '000000.50000000', 'EUR', '', '', ''],
    ['C', 'Free', '', '', '', '', '', '0', 'JPY', '', '', ''],
  ]
  await importProducts(
    database.pool,
    csvFile(`${fileColumns}\n${rows.map((row) => row.join(',')).join('\n')}\n`),
  )
  const stored = await readProducts(database)
  t.match(stored[0], { price: '999999999999999.9999', name: '😀'.repeat(500) })
  t.equal(stored.length, 3)
})

t.test('rejects a SKU that occurs twice in the file, and names both lines', async (t) => {
  const message = await readImportError(
    t,
    database,
    'sku,name\nA,Hammer\nB,Saw\na,Axe\n A ,Mallet\n',
  )
  t.match(message, '2 rows are invalid')
  t.match(message, 'line 2: sku: is also on line 5')
  t.match(message, 'line 5: sku: is also on line 2')
})

t.test('lists a cause of many rows once, and the first twenty others', async (t) => {
  const rows = Array.from({ length: 1_234 }, (_, index) => `S${index},Hammer,barril ${index}`)
  const other = 'A,Axe,C62\n,Saw,C62\nB,,C62\n'
  const content = `sku,name,unit\n${rows.join('\n')}\n${other}`
  t.equal(
    await readImportError(t, database, content),
    '1,236 rows are invalid, so nothing was imported:\n' +
      '  1,234 rows, the first on line 2: unit: "barril 0" is not a UN/ECE Recommendation 20 code ' +
      'such as C62 (piece), KGM or MTR\n' +
      '  line 1237: sku: is missing\n' +
      '  line 1238: name: is missing\n' +
      'Correct them, or use --rejects FILE to import the valid rows and write the invalid ones to ' +
      'FILE.',
  )
})

t.test(
  'with rejects, imports valid rows and writes invalid ones, which can be corrected and imported',
  async (t) => {
    const { rejectedRows, content } = collectRejectedRows()
    const summary = await importProducts(
      database.pool,
      csvFile(`name,unit,sku
Hammer,C62,A
"Saw, ""large""",barril,B
"Two
lines",C62,
File,C62
Axe,C62,C,extra,
Mallet,C62,D
Gloves,PR,D
`),
      { rejectedRows },
    )
    t.match(summary, { read: 7, inserted: 1, updated: 0, unchanged: 0, rejected: 6 })
    t.match(await readProducts(database), [{ sku: 'A' }])
    const rows = parse(content(), { relax_column_count: true }).map(
      ([line, reason = '', ...cells]) => ({ line, reason, cells }),
    )
    t.match(rows, [
      { line: 'line', reason: 'reason', cells: ['name', 'unit', 'sku'] },
      { line: '3', reason: /^unit: "barril" is not/, cells: ['Saw, "large"', 'barril', 'B'] },
      { line: '4', reason: 'sku: is missing', cells: ['Two\nlines', 'C62', ''] },
      { line: '6', reason: 'sku: is missing', cells: ['File', 'C62', ''] },
      { line: '7', reason: /^has 4 cells/, cells: ['Axe', 'C62', 'C', 'extra'] },
      { line: '8', reason: 'sku: is also on line 9', cells: ['Mallet', 'C62', 'D'] },
      { line: '9', reason: 'sku: is also on line 8', cells: ['Gloves', 'PR', 'D'] },
    ])

    const corrected = content()
      .replace(',barril,', ',C62,')
      .replace('lines",C62,', 'lines",C62,E')
      .replace('File,C62,', 'File,C62,F')
      .replace(',extra', '')
      .replace('Gloves,PR,D', 'Gloves,PR,G')
    t.match(await importProducts(database.pool, csvFile(corrected)), { read: 6, inserted: 6 })
    t.same((await readProducts(database)).map(({ sku }) => sku).sort(), [
      'A',
      'B',
      'C',
      'D',
      'E',
      'F',
      'G',
    ])
  },
)

t.test('stops if the rejected rows cannot be written', async (t) => {
  const rejectedRows = new Writable({
    write: (_chunk, _encoding, done) => done(new Error('no space left')),
  })
  await t.rejects(
    importProducts(database.pool, csvFile('sku,name\nA,Hammer\nB,\n'), { rejectedRows }),
    { message: 'no space left' },
  )
  t.same(await readProducts(database), [])
})

t.test('imports or rejects rows with any cells, without an error of PostgreSQL', async (t) => {
  const oddCells = [
    '0',
    '-0',
    '1e9',
    '0x1',
    "'",
    '"',
    '\\.',
    '\\N',
    '\\',
    '\t',
    '\n',
    '\u0001',
    '\u2028',
    '💶',
    'today',
    'infinity',
    'ES',
    'EUR',
    '9'.repeat(40),
  ]
  const cell = fc.oneof(
    fc.constantFrom(...oddCells, ''),
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.stringMatching(/^[0-9.-]{1,20}$/),
  )
  const row = fc.tuple(...fileColumns.map(() => cell))
  const samples = fc.sample(row, { numRuns: 2_000, seed: 20261121 })
  const csv = samples
    .map((cells) =>
      cells.map((value) => `"${value.replaceAll('\0', '').replaceAll('"', '""')}"`).join(','),
    )
    .join('\n')
  const { rejectedRows } = collectRejectedRows()
  const summary = await importProducts(database.pool, csvFile(`${fileColumns}\n${csv}\n`), {
    rejectedRows,
  })
  t.ok(summary.rejected > 0, `${summary.inserted} imported, ${summary.rejected} rejected`)
  t.equal(summary.inserted + summary.rejected, summary.read)
})

t.test('leaves the database unchanged if it is stopped at any step', async (t) => {
  const stopAt = async (step: ImportStep) => {
    const stop = new AbortController()
    const options = {
      signal: stop.signal,
      onStep: (reached: ImportStep) => void (reached === step && stop.abort(new Error('enough'))),
    }
    await t.rejects(
      importProducts(database.pool, csvFile('sku,name\nA,Hammer\n'), options),
      { message: 'enough' },
      step,
    )
  }
  for (const step of ['reading', 'checking', 'writing'] as const) await stopAt(step)

  const endlessInput = new PassThrough()
  endlessInput.write('sku,name\nA,Hammer\n')
  const stopReading = new AbortController()
  const waitingForInput = importProducts(database.pool, endlessInput, {
    signal: stopReading.signal,
  })
  setTimeout(() => stopReading.abort(new Error('enough')), 100)
  await t.rejects(waitingForInput, { message: 'enough' }, 'while it waits for input')
  t.same(await readProducts(database), [])

  t.comment('while a statement waits for the lock of another transaction')
  const stop = new AbortController()
  const other = await database.pool.connect()
  await other.query('begin; lock table products in exclusive mode')
  const writing = new Promise<void>((resolve) => {
    const onStep = (step: ImportStep) => void (step === 'writing' && resolve())
    const stopped = importProducts(database.pool, csvFile('sku,name\nA,Hammer\n'), {
      signal: stop.signal,
      onStep,
    })
    t.rejects(stopped, { message: 'enough' }).then(() => resolve(), resolve)
  })
  await writing
  const waiting = sql<{ count: string }>`
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  t.match(
    await eventually(
      () => waiting.execute(database.db),
      ({ rows }) => rows[0]?.count === '1',
    ),
    { rows: [{ count: '1' }] },
  )
  stop.abort(new Error('enough'))
  t.match(
    await eventually(
      () => waiting.execute(database.db),
      ({ rows }) => rows[0]?.count === '0',
    ),
    { rows: [{ count: '0' }] },
  )
  await other.query('rollback')
  other.release()
  t.same(await readProducts(database), [])
  t.match(
    await importProducts(database.pool, csvFile('sku,name\nA,Hammer\n')),
    { inserted: 1 },
    'the next import works',
  )
})

t.test('does not claim that nothing was imported if the connection breaks at commit', async (t) => {
  const { db, pool } = database
  const failAtCommit = async (statement: string) => {
    await sql`create function fail_at_commit() returns trigger language plpgsql as ${sql.lit(
      `begin ${statement}; return null; end`,
    )}`.execute(db)
    await sql`create constraint trigger fail_at_commit after insert on products
      deferrable initially deferred for each row execute function fail_at_commit()`.execute(db)
    const failed = await importProducts(pool, csvFile('sku,name\nA,Hammer\n')).then(
      () => undefined,
      (error: Error) => error,
    )
    await sql`drop function fail_at_commit cascade`.execute(db)
    return failed
  }
  const broken = await failAtCommit('perform pg_terminate_backend(pg_backend_pid())')
  t.type(broken, ImportError)
  t.match(broken, {
    message:
      /^The connection to PostgreSQL broke .*It is unknown whether the file was imported: run it/,
  })
  t.match(
    await failAtCommit(`raise exception 'not today'`),
    { message: 'not today' },
    'an error of the commit itself is certain',
  )
  t.same(await readProducts(database), [])
})
