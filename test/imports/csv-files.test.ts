// CSV files: which headers and rows are accepted, and how rows are parsed. The files that are
// rejected are in invalid-files.test.ts.
import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { parseCsv } from '../../src/imports/readers/csv-parser.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { csvFile, deleteProducts, readImportError, readProducts } from './import-files.ts'

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

t.test('rejects a file whose header does not end', async (t) => {
  const cases: [part: string, message: RegExp][] = [
    ['sku,name\rA,Tubo\r', /end with a bare carriage return/],
    [' ', /row that begins on line 1 is longer than 1000000 characters/],
    ['sku,', /row that begins on line 1 is longer than 1000000 characters/],
  ]
  for (const [part, message] of cases) {
    const chunk = Buffer.from(part.repeat(65_536 / part.length))
    async function* read() {
      for (let chunks = 0; chunks < 50; chunks++) yield chunk
    }
    await t.rejects(importProducts(database.pool, read()), { message }, part)
  }
})

t.test('imports nothing from a file that has only a header', async (t) => {
  t.match(await importProducts(database.pool, csvFile('sku,name\n')), {
    read: 0,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
  })
})

t.test('adds the empty cells that spreadsheets leave out at the end of a row', async (t) => {
  await importProducts(database.pool, csvFile('sku,name,brand\nA,Hammer\nB,Saw,Ejemplo\n'))
  t.match(await readProducts(database), [{ brand: null }, { brand: 'Ejemplo' }])
  t.match(
    await readImportError(t, database, 'sku,name,brand\nA,Hammer,Ejemplo\nB,Saw, large,Ejemplo\n'),
    'line 3: has 4 cells, but the header has 3: a cell with a comma',
  )
  t.match(
    await readImportError(t, database, 'sku,name,brand\nA,Hammer,Ejemplo\nB,Saw'),
    'line 3: has 2 cells, but the header has 3: the file is cut short',
  )
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
          for await (const batch of parseCsv(Readable.from(chunks)))
            rowsRead.push(...batch.map(({ line, cells }) => ({ line, cells })))
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
