// The import of products, and what every import promises: what is accepted as a file, what is refused and how, and that it is all or nothing.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { parseCsv } from '../../src/imports/csv/csv-parser.ts'
import { productColumns } from '../../src/imports/file-columns.ts'
import { InvalidFileError } from '../../src/imports/invalid-file-error.ts'
import { importProducts } from '../../src/imports/products/import-products.ts'
import { eventually, type TestDatabase, testDatabase } from '../support/test-service.ts'

const script = new URL('../../scripts/import.ts', import.meta.url).pathname

/** A file in memory. */
const file = (content: string | Buffer) => Readable.from([content])

/** Takes rejects, and shows them as text. */
function collector(): { rejects: Writable; content: () => string } {
  const chunks: string[] = []
  const rejects = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  return { rejects, content: () => chunks.join('') }
}

async function products({ db }: TestDatabase) {
  const { rows } = await sql<Record<string, unknown>>`
    select sku, name, description, category, brand, unit, price, currency, hs_code, origin_country, active from products order by id`.execute(
    db,
  )
  return rows
}

/** Everything that an import might change, down to the place of each row. */
async function everything({ db }: TestDatabase) {
  const { rows } = await sql`select ctid, xmin, p.* from products p order by id`.execute(db)
  const { rows: changes } = await sql`select * from product_changes order by id`.execute(db)
  return { rows, changes }
}

async function refusal(t: Test, database: TestDatabase, content: string | Buffer): Promise<string> {
  const before = await everything(database)
  const error = await importProducts(database.pool, file(content)).then(
    () => new Error('was imported'),
    (error: unknown) => error,
  )
  t.same(await everything(database), before, 'the database is as it was')
  return error instanceof InvalidFileError ? error.message : `not a InvalidFileError: ${error}`
}

type Ended = { status: number | null; stdout: string; stderr: string }

function start(
  words: string[],
  url: string,
): { child: ChildProcess & { stdin: Writable }; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [script, ...words], {
    env: { ...process.env, IMPORTER_DATABASE_URL: url },
    stdio: 'pipe',
  })
  const status = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ended = Promise.all([status, text(child.stdout), text(child.stderr)]).then(
    ([status, stdout, stderr]) => ({
      status,
      stdout,
      stderr,
    }),
  )
  return { child, ended }
}

async function run(words: string[], url: string, input = ''): Promise<Ended> {
  const { child, ended } = start(words, url)
  child.stdin.end(input)
  return ended
}

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'import-test-'))
  t.teardown(() => rm(made, { recursive: true }))
  return made
}

t.test(
  'inserts what is new, updates what changed, and does not touch what is as it was',
  async (t) => {
    const database = await testDatabase(t)
    const { db, pool } = database
    await db.insertInto('search_engines').values({ name: 'main', indexed_at: null }).execute()
    const header =
      'sku,name,description,category,brand,unit,price,currency,hs_code,origin_country,active'
    const summary = await importProducts(
      pool,
      file(`${header}
AB-1,Hammer,"Steel, 300 g",Tools,Ejemplo,C62,12.50,EUR,820520,ES,true
AB-2,Camión de juguete,,,,,,,,,no
AB-3,Peso,,,,,0.0835,EUR,,,
`),
    )
    t.same(summary, { read: 3, inserted: 3, updated: 0, unchanged: 0, rejected: 0 })
    const nothing = {
      description: null,
      category: null,
      brand: null,
      unit: null,
      hs_code: null,
      origin_country: null,
    }
    t.same(await products(database), [
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
        ...nothing,
        sku: 'AB-2',
        name: 'Camión de juguete',
        price: null,
        currency: null,
        active: false,
      },
      { ...nothing, sku: 'AB-3', name: 'Peso', price: '0.0835', currency: 'EUR', active: true },
    ])

    const before = await everything(database)
    const again = `${header}
AB-3,Peso,,,,,0.08350,EUR,,,yes
AB-1,Hammer,"Steel, 300 g",Tools,Ejemplo,C62,12.5,EUR,820520,ES,1
AB-2,Camión de juguete,,,,,,,,,false
`
    t.same(await importProducts(pool, file(again)), {
      read: 3,
      inserted: 0,
      updated: 0,
      unchanged: 3,
      rejected: 0,
    })
    t.same(await everything(database), before, 'not a row was written')

    const changed = again.replace('Peso', 'Pesa').replace('AB-2,Camión', 'AB-4,Camión')
    t.same(await importProducts(pool, file(changed)), {
      read: 3,
      inserted: 1,
      updated: 1,
      unchanged: 1,
      rejected: 0,
    })
    t.equal(
      (await everything(database)).changes.length,
      before.changes.length + 2,
      'the index hears of two products',
    )
  },
)

t.test(
  'whether a product is active is said in English, in Spanish, or as spreadsheets do, in capitals or not',
  async (t) => {
    const database = await testDatabase(t)
    const words = {
      yes: ['TRUE', 'Yes', 'sí', 'SÍ', 'Si', 'si\u0301', 'VERDADERO', '1', ''],
      no: ['False', 'NO', 'falso', 'FALSO', '0'],
    }
    const all = [...words.yes, ...words.no]
    await importProducts(
      database.pool,
      file(`sku,name,active\n${all.map((word, index) => `S${index},Hammer,${word}\n`).join('')}`),
    )
    const active = (await products(database)).map((product) => product.active)
    t.same(active, [...words.yes.map(() => true), ...words.no.map(() => false)])
  },
)

t.test(
  'columns that the file does not have keep their values, and an empty cell takes its value away',
  async (t) => {
    const database = await testDatabase(t)
    await importProducts(
      database.pool,
      file('sku,name,brand,price,currency,active\nA,Hammer,Ejemplo,1,EUR,false\n'),
    )
    await importProducts(database.pool, file('sku,name,description\nA,Mallet,Wooden\n'))
    t.match(await products(database), [
      { name: 'Mallet', description: 'Wooden', brand: 'Ejemplo', price: '1', active: false },
    ])
    await importProducts(
      database.pool,
      file('sku,name,brand,price,currency,active\nA,Mallet,,,,\n'),
    )
    t.match(await products(database), [
      { description: 'Wooden', brand: null, price: null, currency: null, active: true },
    ])
  },
)

t.test(
  'takes any order of columns, a byte order mark, CRLF, blanks around cells, blank rows and line breaks within quotation marks',
  async (t) => {
    const database = await testDatabase(t)
    const content = Buffer.from(
      '\ufeff name , "sku"\r\n\r\n  Ñandú de peluche  ,  "A ""1"""  \r\n"Two\r\nlines",B\r\n,,\r\n\t,\r\n"back\\slash\tand tab\\n",C',
    )
    // In pieces of one byte, so that every character is cut somewhere.
    const pieces = Readable.from([...content].map((byte) => Buffer.from([byte])))
    const summary = await importProducts(database.pool, pieces)
    t.match(summary, { read: 3, inserted: 3 })
    t.match(await products(database), [
      { sku: 'A "1"', name: 'Ñandú de peluche' },
      { sku: 'B', name: 'Two\r\nlines' },
      { sku: 'C', name: 'back\\slash\tand tab\\n' },
    ])
  },
)

t.test('a header without rows imports nothing', async (t) => {
  const database = await testDatabase(t)
  t.same(await importProducts(database.pool, file('sku,name\n')), {
    read: 0,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
  })
})

t.test(
  'refuses what is no CSV of products, says why and on which line, and leaves the database as it was',
  async (t) => {
    const database = await testDatabase(t)
    await importProducts(database.pool, file('sku,name\nA,Hammer\n'))
    const known = /Known columns: sku, name, description, .*, active\./
    const cases: [what: string, content: string | Buffer, message: RegExp][] = [
      ['an empty file', '', /file is empty/],
      ['blank lines alone', '\n \n\r\n', /file is empty/],
      ['a byte order mark alone', '\ufeff', /file is empty/],
      [
        'an unknown column',
        'sku,name,colour\nB,Saw,red\n',
        /Line 1, the header, has unknown columns: "colour"\. /,
      ],
      ['an unknown column', 'sku,name,colour\nB,Saw,red\n', known],
      ['a column in capitals', 'SKU,name\nB,Saw\n', /unknown columns: "SKU"/],
      [
        'a column without a name',
        'sku,name,\nB,Saw,\n',
        /unknown columns: \(a column without a name\)/,
      ],
      ['a column twice', 'sku,name,sku\nB,Saw,B\n', /Line 1, the header, has the column sku twice/],
      [
        'a missing column',
        '\nsku,brand\nB,Ejemplo\n',
        /Line 2, the header, lacks required columns: name\. /,
      ],
      [
        'a price without its currency',
        'sku,name,price\nB,Saw,1\n',
        /must have price and currency together/,
      ],
      ['semicolons', 'sku;name;price\nB;Saw;1,50\n', /separates its cells by semicolons/],
      [
        'semicolons and quotation marks',
        '"sku";"name"\n"B";"Saw"\n',
        /separates its cells by semicolons/,
      ],
      ['tabs', 'sku\t"name"\nB\tSaw\n', /separates its cells by tabs/],
      ['carriage returns alone', 'sku,name\rB,Saw\r', /bare carriage return/],
      ['no header', 'B,Saw\nC,File\n', /unknown columns: "B", "Saw"/],
      ['UTF-16', Buffer.from('\ufeffsku,name\nB,Saw\n', 'utf16le'), /is UTF-16\. .*UTF-8/],
      [
        'UTF-16 without a mark',
        Buffer.from('sku,name\nB,Saw\n', 'utf16le'),
        /Line 1 has a NUL byte.*may be UTF-16/,
      ],
      ['a NUL byte', 'sku,name\nB,Saw\nC,Fi\0le\n', /Line 3 has a NUL byte/],
      [
        'Latin-1',
        Buffer.from('sku,name\nB,Saw\nC,Cañón\n', 'latin1'),
        /Line 3 is not UTF-8.*Windows-1252/,
      ],
      [
        'a character cut at the end',
        Buffer.from('sku,name\nB,ñ').subarray(0, -1),
        /Line 2 is not UTF-8/,
      ],
      [
        'a quotation mark that stays open',
        'sku,name\nA,Saw\n"B,File\nC,Axe\n',
        /row that begins on line 3 opens a quotation mark that is never closed/,
      ],
      [
        'a quotation mark within a cell',
        'sku,name\n"A\n2",Saw\nB,5" pipe\n',
        /row that begins on line 4 has a quotation mark in the middle/,
      ],
      [
        'text after a quotation mark',
        'sku,name\nB,"Saw"s\n',
        /row that begins on line 2 has a quotation mark in the middle/,
      ],
      [
        'a row without end',
        `sku,name\nB,"${'x\n'.repeat(600_000)}`,
        /row that begins on line 2 (is longer than|opens a quotation mark)/,
      ],
    ]
    for (const [what, content, message] of cases)
      t.match(await refusal(t, database, content), message, what)
  },
)

t.test('refuses a bad row with its line, its column and the reason', async (t) => {
  const database = await testDatabase(t)
  const header = productColumns.join(',')
  const good = { sku: 'B', name: 'Saw', price: '1', currency: 'EUR' }
  const cases: [
    cells: Partial<Record<(typeof productColumns)[number], string>>,
    problem: string,
  ][] = [
    [{ sku: '' }, 'sku: is missing'],
    [{ name: ' ' }, 'name: is missing'],
    [{ sku: 'x'.repeat(101) }, 'sku: has 101 characters: at most 100 are allowed'],
    [{ name: 'ñ'.repeat(501) }, 'name: has 501 characters'],
    [{ description: '😀'.repeat(10_001) }, 'description: has 10001 characters'],
    [{ category: 'x'.repeat(201) }, 'category: has 201 characters'],
    [{ brand: 'x'.repeat(201) }, 'brand: has 201 characters'],
    [{ unit: 'piece' }, 'unit: "piece" is not a UN/ECE Recommendation 20 code'],
    [{ unit: 'c62' }, 'unit: "c62" is not a UN/ECE'],
    [{ price: '1,50' }, 'price: "1,50" is not a plain decimal number'],
    [{ price: '1e3' }, 'price: "1e3" is not a plain decimal number'],
    [{ price: '1.000.000' }, 'price: "1.000.000" is not a plain decimal number'],
    [{ price: 'NaN' }, 'price: "NaN" is not a plain decimal number'],
    [{ price: 'Infinity' }, 'price: "Infinity" is not a plain decimal number'],
    [{ price: '.5' }, 'price: ".5" is not a plain decimal number'],
    [{ price: '١' }, 'price: "١" is not a plain decimal number'],
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
    const row = productColumns.map((column) => `"${{ ...good, ...cells }[column] ?? ''}"`).join(',')
    t.match(
      await refusal(t, database, `${header}\nA,Hammer,,,,,,,,,\n${row}\n`),
      `line 3: ${problem}`,
      problem,
    )
  }
  const two = await refusal(
    t,
    database,
    'sku,name,unit,price,currency\nA,,piece,1,EUR\nB,Saw,C62,-1,EURO\n',
  )
  t.match(
    two,
    '2 rows are bad, so nothing was imported:\n  line 2: name: is missing; unit: "piece" is not',
  )
  t.match(two, /line 3: price: "-1" .*; currency: "EURO"/)
  t.match(two, '--rejects')
})

t.test('accepts what the schema just allows', async (t) => {
  const database = await testDatabase(t)
  const widest = [
    'x'.repeat(100),
    '😀'.repeat(500),
    '😀'.repeat(10_000),
    'c'.repeat(200),
    'b'.repeat(200),
    'C62',
  ]
  const amounts = ['999999999999999.9999', 'CLF', '123456789012', 'ES', 'true']
  const rows = [
    ...[[...widest, ...amounts]],
    ['B', 'Zeros', '', '', '', '', '000000.50000000', 'EUR', '', '', ''],
    ['C', 'Free', '', '', '', '', '0', 'JPY', '', '', ''],
  ]
  await importProducts(
    database.pool,
    file(`${productColumns}\n${rows.map((row) => row.join(',')).join('\n')}\n`),
  )
  const stored = await products(database)
  t.match(stored[0], { price: '999999999999999.9999', name: '😀'.repeat(500) })
  t.equal(stored.length, 3)
})

t.test('refuses a row with too few or too many cells', async (t) => {
  const database = await testDatabase(t)
  const message = await refusal(
    t,
    database,
    'sku,name,brand\nA,Hammer,Ejemplo\nB,Saw, large,Ejemplo\n"C\nC",File\n',
  )
  t.match(message, 'line 3: has 4 cells, but the header has 3: a cell with a comma')
  t.match(message, 'line 4: has 2 cells, but the header has 3')
})

t.test('refuses a SKU that the file has twice, and names both lines', async (t) => {
  const database = await testDatabase(t)
  const message = await refusal(t, database, 'sku,name\nA,Hammer\nB,Saw\na,Axe\n A ,Mallet\n')
  t.match(message, '2 rows are bad')
  t.match(message, 'line 2: sku: is also on line 5')
  t.match(message, 'line 5: sku: is also on line 2')
})

t.test('lists the first twenty bad rows and counts them all', async (t) => {
  const database = await testDatabase(t)
  const rows = Array.from({ length: 1_234 }, (_, index) => `S${index},Hammer,piece`)
  const message = await refusal(t, database, `sku,name,unit\n${rows.join('\n')}\n`)
  t.match(message, '1,234 rows are bad')
  t.match(message, 'line 21: unit:')
  t.notMatch(message, 'line 22:')
  t.match(message, '… and 1,214 more.')
})

t.test(
  'with rejects, imports what is good and writes the rest so that it can be mended and imported',
  async (t) => {
    const database = await testDatabase(t)
    const { rejects, content } = collector()
    const summary = await importProducts(
      database.pool,
      file(`name,unit,sku
Hammer,C62,A
"Saw, ""large""",piece,B
"Two
lines",C62,
File,C62
Axe,C62,C,extra,
Mallet,C62,D
Gloves,PR,D
`),
      { rejects },
    )
    t.same(summary, { read: 7, inserted: 1, updated: 0, unchanged: 0, rejected: 6 })
    t.match(await products(database), [{ sku: 'A' }])
    const rows = parse(content(), { relax_column_count: true }).map(
      ([line, reason = '', ...cells]) => ({ line, reason, cells }),
    )
    t.match(rows, [
      { line: 'line', reason: 'reason', cells: ['name', 'unit', 'sku'] },
      { line: '3', reason: /^unit: "piece" is not/, cells: ['Saw, "large"', 'piece', 'B'] },
      { line: '4', reason: 'sku: is missing', cells: ['Two\nlines', 'C62', ''] },
      { line: '6', reason: /^has 2 cells/, cells: ['File', 'C62'] },
      { line: '7', reason: /^has 5 cells/, cells: ['Axe', 'C62', 'C', 'extra', ''] },
      { line: '8', reason: 'sku: is also on line 9', cells: ['Mallet', 'C62', 'D'] },
      { line: '9', reason: 'sku: is also on line 8', cells: ['Gloves', 'PR', 'D'] },
    ])

    const mended = content()
      .replace(',piece,', ',C62,')
      .replace('lines",C62,', 'lines",C62,E')
      .replace('File,C62', 'File,C62,F')
      .replace(',extra,', '')
      .replace('Gloves,PR,D', 'Gloves,PR,G')
    t.match(await importProducts(database.pool, file(mended)), { read: 6, inserted: 6 })
    t.same((await products(database)).map(({ sku }) => sku).sort(), [
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

t.test(
  'with rejects, a file without a bad row writes nothing, and one without a good row imports nothing',
  async (t) => {
    const database = await testDatabase(t)
    const none = collector()
    t.match(await importProducts(database.pool, file('sku,name\nA,Hammer\n'), none), {
      inserted: 1,
      rejected: 0,
    })
    t.equal(none.content(), '')
    t.ok(none.rejects.writableFinished)
    const all = collector()
    t.match(await importProducts(database.pool, file('sku,name\nB,\nC,\n'), all), {
      inserted: 0,
      rejected: 2,
    })
  },
)

t.test('rejects that cannot be written stop the import', async (t) => {
  const database = await testDatabase(t)
  const rejects = new Writable({
    write: (_chunk, _encoding, done) => done(new Error('no space left')),
  })
  await t.rejects(importProducts(database.pool, file('sku,name\nA,Hammer\nB,\n'), { rejects }), {
    message: 'no space left',
  })
  t.same(await products(database), [])
})

t.test(
  'whatever the cells hold, it is imported or told, and PostgreSQL never sees it fail',
  async (t) => {
    const database = await testDatabase(t)
    const odd = [
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
      fc.constantFrom(...odd, ''),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.stringMatching(/^[0-9.-]{1,20}$/),
    )
    const row = fc.tuple(...productColumns.map(() => cell))
    const samples = fc.sample(row, { numRuns: 2_000, seed: 20261121 })
    const csv = samples
      .map((cells) =>
        cells.map((value) => `"${value.replaceAll('\0', '').replaceAll('"', '""')}"`).join(','),
      )
      .join('\n')
    const { rejects } = collector()
    const summary = await importProducts(database.pool, file(`${productColumns}\n${csv}\n`), {
      rejects,
    })
    t.ok(summary.rejected > 0, `${summary.inserted} imported, ${summary.rejected} rejected`)
    t.equal(summary.inserted + summary.rejected, summary.read)
  },
)

t.test(
  'reads CSV as csv-parse does, however it is cut, and knows on which line each row begins',
  async (t) => {
    const cell = fc.oneof(
      fc.constantFrom('', 'a', 'ñ', '😀'),
      fc.string({ unit: fc.constantFrom('a', ' ', ',', '"', '\n', '\r\n', 'é'), maxLength: 6 }),
    )
    const table = fc.array(fc.tuple(fc.constant('x'), cell, cell), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        fc.integer({ min: 1, max: 7 }),
        async (rows, lineEnd, ended, size) => {
          const quoted = rows.map((cells) =>
            cells
              .map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
              .join(','),
          )
          const content = quoted.join(lineEnd) + (ended ? lineEnd : '')
          const pieces = content.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
          const read = []
          for await (const batch of parseCsv(Readable.from(pieces))) read.push(...batch)
          const expected = parse(content, { trim: true, record_delimiter: ['\r\n', '\n'] }).map(
            (cells) => cells.map((value) => value.trim()),
          )
          const lines = quoted.map(
            (_, index) =>
              1 + quoted.slice(0, index).join('\n').split('\n').length - (index === 0 ? 1 : 0),
          )
          t.same(
            read,
            expected.map((cells, index) => ({ cells, line: lines[index] })),
            { diagnostic: false },
          )
        },
      ),
      { seed: 4242, numRuns: 300 },
    )
  },
)

t.test('an import that is stopped leaves nothing behind, whatever it is doing', async (t) => {
  const database = await testDatabase(t)
  const stopAt = async (step: string) => {
    const stop = new AbortController()
    const options = {
      signal: stop.signal,
      onStep: (reached: string) => void (reached === step && stop.abort(new Error('enough'))),
    }
    await t.rejects(
      importProducts(database.pool, file('sku,name\nA,Hammer\n'), options),
      { message: 'enough' },
      step,
    )
  }
  for (const step of ['reading', 'checking', 'writing']) await stopAt(step)

  const idle = new PassThrough()
  idle.write('sku,name\nA,Hammer\n')
  const early = new AbortController()
  const waitingForInput = importProducts(database.pool, idle, { signal: early.signal })
  setTimeout(() => early.abort(new Error('enough')), 100)
  await t.rejects(waitingForInput, { message: 'enough' }, 'while it waits for input')
  t.same(await products(database), [])

  t.comment('and while a statement waits for somebody else')
  const stop = new AbortController()
  const other = await database.pool.connect()
  await other.query('begin; lock table products in exclusive mode')
  const writing = new Promise<void>((resolve) => {
    const onStep = (step: string) => void (step === 'writing' && resolve())
    const stopped = importProducts(database.pool, file('sku,name\nA,Hammer\n'), {
      signal: stop.signal,
      onStep,
    })
    t.rejects(stopped, { message: 'enough' }).then(() => resolve(), resolve)
  })
  await writing
  const waiting = sql<{
    count: string
  }>`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
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
  t.same(await products(database), [])
  t.match(
    await importProducts(database.pool, file('sku,name\nA,Hammer\n')),
    { inserted: 1 },
    'and the next import finds the way free',
  )
})

t.test('two imports at once queue, and both succeed', async (t) => {
  const database = await testDatabase(t)
  const slow = new PassThrough()
  slow.write('sku,name\nA,Hammer\n')
  let reading = () => {}
  const started = new Promise<void>((resolve) => {
    reading = resolve
  })
  const first = importProducts(database.pool, slow, {
    onStep: (step) => void (step === 'reading' && reading()),
  })
  await started
  let waiting = (_step: string) => {}
  const waited = new Promise<string>((resolve) => {
    waiting = resolve
  })
  const second = importProducts(database.pool, file('sku,name\nA,Hammer\nB,Saw\n'), {
    onStep: waiting,
  })
  t.equal(await waited, 'waiting')
  slow.end('B,Axe\n')
  t.match(await first, { inserted: 2 })
  t.match(await second, { inserted: 0, updated: 1, unchanged: 1 })
})

t.test(
  'the script imports plain and gzipped files and standard input, and tells what it did',
  async (t) => {
    const database = await testDatabase(t)
    const folder = await directory()
    const plain = join(folder, 'products.csv')
    await writeFile(plain, 'sku,name\nA,Hammer\nB,Saw\n')
    const first = await run(['products', plain], database.roles.importer)
    t.match(first, {
      status: 0,
      stdout:
        /2 rows read, 0 rejected.*rows\/s.*\nproducts: 2 inserted, 0 updated, 0 unchanged\.\n/,
    })
    const zipped = join(folder, 'products.csv.gz')
    await writeFile(zipped, Buffer.concat([gzipSync('sku,name\nA,Mallet\n'), gzipSync('C,Axe\n')]))
    t.match(await run(['products', zipped], database.roles.importer), {
      status: 0,
      stdout: /1 inserted, 1 updated/,
    })
    t.match(await run(['products', '-'], database.roles.importer, 'sku,name\nD,File\n'), {
      status: 0,
      stdout: /1 inserted/,
    })
    t.match(await run(['products', '-'], database.roles.importer, 'sku,name\n'), {
      status: 0,
      stdout: /nothing to import/,
    })
    t.equal((await products(database)).length, 4)
  },
)

t.test(
  'the script exits 1 on a file that cannot be imported, names it, and leaves the database as it was',
  async (t) => {
    const database = await testDatabase(t)
    const folder = await directory()
    const csv = `sku,name\n${Array.from({ length: 5_000 }, (_, index) => `S${index},Product ${index * 7919}`).join('\n')}\n`
    const damaged = gzipSync(csv)
    damaged.fill(0x55, 10_000, 10_050)
    const cases: [name: string, content: string | Buffer, message: RegExp][] = [
      [
        'bad.csv',
        'sku,name\nA,Hammer\nB,\n',
        /bad\.csv: One row is bad, .*\n {2}line 3: name: is missing\n/,
      ],
      [
        'header.csv',
        'sku,title\nA,Hammer\n',
        /header\.csv: Line 1, the header, has unknown columns: "title"/,
      ],
      [
        'cut.csv.gz',
        gzipSync(csv).subarray(0, -100),
        /cut\.csv\.gz: The gzip is damaged or cut short \(.*\); [1-9]\d{3} lines of it were read/,
      ],
      ['damaged.csv.gz', damaged, /damaged\.csv\.gz: (The gzip is damaged|Line \d+ )/],
      ['plain.csv.gz', csv, /plain\.csv\.gz: The file is named \.gz but is not gzip/],
      [
        'latin.csv',
        Buffer.from('sku,name\nA,Cañón\n', 'latin1'),
        /latin\.csv: Line 2 is not UTF-8/,
      ],
      ['empty.csv', '', /empty\.csv: The file is empty/],
      ['empty.csv.gz', gzipSync(''), /empty\.csv\.gz: The file is empty/],
    ]
    for (const [name, content, message] of cases) {
      await writeFile(join(folder, name), content)
      t.match(
        await run(['products', join(folder, name)], database.roles.importer),
        { status: 1, stdout: '', stderr: message },
        name,
      )
    }
    t.match(await run(['products', join(folder, 'none.csv')], database.roles.importer), {
      status: 1,
      stderr: /none\.csv: There is no such file/,
    })
    t.match(await run(['products', folder], database.roles.importer), {
      status: 1,
      stderr: /is a directory/,
    })
    t.match(await run(['products', '-'], database.roles.importer, 'sku\nA\n'), {
      status: 1,
      stderr: /standard input: .*lacks required columns: name/,
    })
    t.same(await products(database), [])

    t.match(await run(['products'], database.roles.importer), {
      status: 2,
      stderr: /Name the file.*\nSee --help/,
    })
    t.match(await run(['invoices', 'a.csv'], database.roles.importer), {
      status: 2,
      stderr: /products FILE or quotes FILE/,
    })
    t.match(await run(['--help'], ''), {
      status: 0,
      stdout: /sku name description category brand unit\n\s+price currency hs_code/,
    })
    const { db } = database
    await db.deleteFrom('company').execute()
    t.match(await run(['products', join(folder, 'bad.csv')], database.roles.importer), {
      status: 1,
      stderr: /make migrate/,
    })
  },
)

t.test('the script keeps rejects in a file that is there only when there are some', async (t) => {
  const database = await testDatabase(t)
  const folder = await directory()
  const rejects = join(folder, 'rejects.csv')
  const csv = join(folder, 'products.csv')
  await writeFile(csv, 'sku,name\nA,Hammer\nB,\n')
  const bad = await run(['products', csv, '--rejects', rejects], database.roles.importer)
  t.match(bad, { status: 0, stdout: /2 rows read, 1 rejected.*\n.*1 inserted.*\n.*rejects\.csv/s })
  t.equal(await readFile(rejects, 'utf8'), 'line,reason,sku,name\n3,name: is missing,B,\n')

  await writeFile(csv, 'sku,name\nA,Hammer\nB,Saw\n')
  t.match(await run(['products', csv, '--rejects', rejects], database.roles.importer), {
    status: 0,
    stdout: /0 rejected/,
  })
  t.same(await readdir(folder), ['products.csv'], 'neither the old file nor a temporary one')

  await writeFile(csv, 'sku;name\nA;Hammer\n')
  t.match(await run(['products', csv, '--rejects', rejects], database.roles.importer), {
    status: 1,
    stderr: /semicolons/,
  })
  t.same(await readdir(folder), ['products.csv'])
  t.match(await run(['products', csv, '--rejects', csv], database.roles.importer), {
    status: 1,
    stderr: /is the file that is imported/,
  })
  t.match(
    await run(
      ['products', csv, '--rejects', join(folder, 'none', 'r.csv')],
      database.roles.importer,
    ),
    {
      status: 1,
      stderr: /cannot be written/,
    },
  )
})

t.test('Ctrl+C stops the script: status 130, and nothing was imported', async (t) => {
  const database = await testDatabase(t)
  const folder = await directory()
  const { child, ended } = start(
    ['products', '-', '--rejects', join(folder, 'rejects.csv')],
    database.roles.importer,
  )
  child.stdin.write('sku,name\nA,Hammer\n')
  const copying = sql<{
    count: string
  }>`select count(*) from pg_stat_activity where datname = current_database() and query like 'copy staged%'`
  await eventually(
    () => copying.execute(database.db),
    ({ rows }) => rows[0]?.count === '1',
  )
  child.kill('SIGINT')
  t.match(await ended, { status: 130, stdout: '', stderr: /nothing was imported/ })
  t.same(await products(database), [])
  t.same(await readdir(folder), [])
})
