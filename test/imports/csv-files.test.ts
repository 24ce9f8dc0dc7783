// CSV files: which encodings, separators and headers are accepted, and how rows are parsed.
import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import t from 'tap'
import { parseCsv } from '../../src/imports/csv/csv-parser.ts'
import { importProducts } from '../../src/imports/products/import-products.ts'
import { testDatabase } from '../support/test-database.ts'
import { csvFile, deleteProducts, readImportError, readProducts } from './product-files.ts'

const database = await testDatabase(t)
t.beforeEach(() => deleteProducts(database))

t.test(
  'accepts any column order, a byte order mark, CRLF, blanks, blank rows and quoted line breaks',
  async (t) => {
    const content = Buffer.from(
      '\ufeff name , "sku"\r\n\r\n' +
        '  Ñandú de peluche  ,  "A ""1"""  \r\n' +
        '"Two\r\nlines",B\r\n,,\r\n\t,\r\n"back\\slash\tand tab\\n",C',
    )
    // Chunks of one byte cut every character.
    const chunks = Readable.from([...content].map((byte) => Buffer.from([byte])))
    const summary = await importProducts(database.pool, chunks)
    t.match(summary, { read: 3, inserted: 3 })
    t.match(await readProducts(database), [
      { sku: 'A "1"', name: 'Ñandú de peluche' },
      { sku: 'B', name: 'Two\r\nlines' },
      { sku: 'C', name: 'back\\slash\tand tab\\n' },
    ])
  },
)

t.test('imports nothing from a file that has only a header', async (t) => {
  t.match(await importProducts(database.pool, csvFile('sku,name\n')), {
    read: 0,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
  })
})

t.test('rejects a file that is not a CSV of products, with the reason and the line', async (t) => {
  await importProducts(database.pool, csvFile('sku,name\nA,Hammer\n'))
  const knownColumns = /Known columns: sku, name, description, .*, active\./
  const cases: [description: string, content: string | Buffer, message: RegExp][] = [
    ['an empty file', '', /file is empty/],
    ['blank lines alone', '\n \n\r\n', /file is empty/],
    ['a byte order mark alone', '\ufeff', /file is empty/],
    [
      'an unknown column',
      'sku,name,colour\nB,Saw,red\n',
      /Line 1, the header, has unknown columns: "colour"\. /,
    ],
    ['an unknown column', 'sku,name,colour\nB,Saw,red\n', knownColumns],
    ['a column in capitals', 'SKU,name\nB,Saw\n', /unknown columns: "SKU"/],
    [
      'a column without a name',
      'sku,,name\nB,,Saw\n',
      /unknown columns: \(a column without a name\)/,
    ],
    ['a column twice', 'sku,name,sku\nB,Saw,B\n', /Line 1, the header, has the column sku twice/],
    [
      'a missing column',
      '\nname,brand\nSaw,Ejemplo\n',
      /Line 2, the header, lacks required columns: sku\. /,
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
      'a quotation mark that is never closed',
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
      'a row without an end',
      `sku,name\nB,"${'x\n'.repeat(600_000)}`,
      /row that begins on line 2 (is longer than|opens a quotation mark)/,
    ],
  ]
  for (const [description, content, message] of cases)
    t.match(await readImportError(t, database, content), message, description)
})

t.test('rejects a row with too few or too many cells', async (t) => {
  const message = await readImportError(
    t,
    database,
    'sku,name,brand\nA,Hammer,Ejemplo\nB,Saw, large,Ejemplo\n"C\nC",File\n',
  )
  t.match(message, 'line 3: has 4 cells, but the header has 3: a cell with a comma')
  t.match(message, 'line 4: has 2 cells, but the header has 3')
})

t.test(
  'reads the same cells as csv-parse, however the text is cut, with the line of each row',
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
        async (rows, lineEnd, endsWithLineEnd, size) => {
          const quoted = rows.map((cells) =>
            cells
              .map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
              .join(','),
          )
          const content = quoted.join(lineEnd) + (endsWithLineEnd ? lineEnd : '')
          const chunks = content.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
          const rowsRead = []
          for await (const batch of parseCsv(Readable.from(chunks))) rowsRead.push(...batch)
          const expected = parse(content, { trim: true, record_delimiter: ['\r\n', '\n'] }).map(
            (cells) => cells.map((value) => value.trim()),
          )
          const lines = quoted.map(
            (_, index) =>
              1 + quoted.slice(0, index).join('\n').split('\n').length - (index === 0 ? 1 : 0),
          )
          t.same(
            rowsRead,
            expected.map((cells, index) => ({ cells, line: lines[index] })),
            { diagnostic: false },
          )
        },
      ),
      { seed: 4242, numRuns: 300 },
    )
  },
)
