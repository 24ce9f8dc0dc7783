// Excel workbooks and JSON lines: cells keep their types, and damaged or hostile files are refused.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { csvFile, deleteProducts, readProducts } from './import-files.ts'
import { runScript } from './import-script.ts'
import { writeXlsx, type XlsxCell, zip } from './write-xlsx.ts'

const database = await testDatabase(t)
const { pool } = database
t.beforeEach(async () => {
  await deleteProducts(database)
  await database.db.deleteFrom('quotes').execute()
})

const header = ['Código', 'Descripción', 'Precio', 'Moneda', 'Activo']
const number = (value: string, style = 0): XlsxCell => ({ value, style })

t.test('reads the cells of a workbook as they are typed', async (t) => {
  const content = writeXlsx({
    sheets: {
      Notas: [['nothing here']],
      'Tarifa & más': [
        [],
        header,
        ['00123', ' Tubo "1" ', number('1.7110000000000001'), 'EUR', { value: '0', type: 'b' }],
        [number('8411230000001'), { value: 'Caño', type: 'inlineStr' }, number('1E-3'), 'EUR'],
        ['', '', '', ''],
        ['F-1', 'Suma', { value: '12.5', formula: 'A1*2' }, 'EUR', { value: '1', type: 'b' }],
      ],
    },
  })
  t.match(await importProducts(pool, csvFile(content), { sheet: 'Tarifa & más' }), {
    read: 3,
    inserted: 3,
    readAs: 'sheet "Tarifa & más" of a workbook; decimal point',
  })
  t.match(await readProducts(database), [
    { sku: '00123', name: 'Tubo "1"', price: '1.711', active: false },
    { sku: '8411230000001', name: 'Caño', price: '0.001', active: true },
    { sku: 'F-1', name: 'Suma', price: '12.5' },
  ])
})

t.test('reads days, percentages, and numbers as text', async (t) => {
  const content = writeXlsx({
    sheets: {
      Hoja1: [
        [
          'Número',
          'Estado',
          'Fecha',
          'Válido hasta',
          'Moneda',
          'Concepto',
          'Cantidad',
          'Precio',
          'IVA',
        ],
        [
          'Q-1',
          'Enviado',
          number('46082', 1),
          number('46112', 3),
          'EUR',
          'Tubo',
          number('2'),
          '1.234,50',
          number('0.21', 2),
        ],
        ['Q-2', 'sent', '2026-03-01', '', 'EUR', 'Tubo', '1,5', number('1.711'), '21 %'],
      ],
    },
  })
  await importQuotes(pool, csvFile(content))
  const { rows } = await sql`
    select issued_on, valid_until, net, tax from quotes order by number`.execute(database.db)
  t.match(rows, [
    { issued_on: '2026-03-01', valid_until: '2026-03-31', net: '2469.00', tax: '518.49' },
    { issued_on: '2026-03-01', valid_until: null, net: '2.57', tax: '0.54' },
  ])
})

t.test('reads back any cells of a workbook, from a file and from standard input', async (t) => {
  const text = fc
    .string({ unit: fc.constantFrom(...'ab&<>"\'ñ€ 1,;\n'), minLength: 1, maxLength: 10 })
    .map((text) => `x${text}x`)
  const row = fc.tuple(text, fc.integer({ min: 0, max: 99_999_999 }))
  const folder = await mkdtemp(join(tmpdir(), 'import-xlsx-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'a.xlsx')
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (rows, isFile) => {
        await deleteProducts(database)
        const cells = rows.map(([name, cents], index): XlsxCell[] => [
          `S${index}`,
          name,
          number(String(cents / 100)),
          'EUR',
        ])
        const content = writeXlsx({ sheets: { A: [header, ...cells] } })
        await writeFile(file, content)
        const args = ['products', isFile ? file : '-']
        const { stderr } = await runScript(args, database.roles.importer, isFile ? '' : content)
        t.equal(stderr, '')
        t.same(
          (await readProducts(database)).map(({ name, price }) => [name, price]),
          rows.map(([name, cents]) => [name.replace(/ {2,}/g, ' '), String(cents / 100)]),
        )
      },
    ),
    { seed: 4244, numRuns: 20 },
  )
})

t.test('refuses a workbook that is damaged, hostile or another one', async (t) => {
  const rows: XlsxCell[][] = [header, ['A', 'Tubo', number('1'), 'EUR']]
  const workbook = (files: Record<string, string>) => writeXlsx({ sheets: { A: rows }, files })
  const whole = workbook({})
  const sheet = 'xl/worksheets/sheet1.xml'
  const entity =
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' +
    '<worksheet><sheetData><row r="1"><c t="str"><v>&a;</v></c></row></sheetData></worksheet>'
  const lying = Buffer.from(whole)
  const directory = lying.indexOf(Buffer.from(sheet), lying.indexOf('504b0102', 0, 'hex'))
  lying.writeUInt32LE(10, directory - 22)
  const cases: [content: Buffer, message: RegExp][] = [
    [workbook({ [sheet]: entity }), /has a DOCTYPE in its XML/],
    [workbook({ 'xl/workbook.xml': '<!DOCTYPE x><workbook/>' }), /has a DOCTYPE/],
    [
      workbook({ [sheet]: `<worksheet>${' '.repeat(50_000_000)}</worksheet>` }),
      /unpacks to 50 MB from \d+ kB/,
    ],
    [
      workbook({ 'xl/sharedStrings.xml': ' '.repeat(210_000_000) }),
      /more texts than fit into memory/,
    ],
    [workbook({ [sheet]: '<worksheet><sheetData><row>' }), /workbook is damaged \(.*Save it again/],
    [workbook({ [sheet]: '<worksheet><sheetData/></worksheet>' }), /The sheet "A" is empty/],
    [whole.subarray(0, -30), /workbook is damaged/],
    [lying, /workbook is damaged \(too many bytes in the stream/],
    [zip({ 'content.xml': '<x/>' }), /is a ZIP, but not an Excel workbook/],
  ]
  for (const [content, message] of cases)
    await t.rejects(importProducts(pool, csvFile(content)), { message }, String(message))
  await t.rejects(importProducts(pool, csvFile(whole), { sheet: 'B' }), {
    message: 'The workbook has no sheet "B". It has "A".',
  })
  await t.rejects(importProducts(pool, csvFile('sku,name\n'), { sheet: 'B' }), {
    message: /the file is none/,
  })
  const formula = writeXlsx({
    sheets: { A: [header, ['A', 'T', { value: '', formula: 'B2*2' }, 'EUR']] },
  })
  await t.rejects(importProducts(pool, csvFile(formula)), {
    message: /line 2: price: "=B2\*2" is a formula: save the values/,
  })
})

t.test('reads JSON lines', async (t) => {
  const lines = [
    { sku: '007', name: 'Tubo', price: 1.711, currency: 'EUR', active: false },
    { name: 'Codo "2"', sku: 'B', price: '1.234,50', currency: 'EUR' },
    { sku: 'C', name: 'Té', price: null, brand: 'Ejemplo' },
  ]
  const content = lines.map((line) => JSON.stringify(line)).join('\n')
  t.match(await importProducts(pool, csvFile(content)), { inserted: 3, readAs: /^JSON lines; / })
  t.match(await readProducts(database), [
    { sku: '007', price: '1.711', active: false },
    { sku: 'B', name: 'Codo "2"', price: '1234.50', active: true },
    { sku: 'C', name: 'Té', price: null, brand: 'Ejemplo' },
  ])
  const errors: [content: string, message: RegExp][] = [
    ['{"sku":"A","name":"x"}\n{"sku":', /^Line 2 is not JSON/],
    ['{"sku":"A","name":"x"}\n[1]', /^Line 2 is not a JSON object/],
    ['{"sku":"A","name":{"es":"x"}}', /^Line 1 has an object in an object/],
    ['{"sku":"A","nombre":"x","colour":1}', /unknown columns: "colour"/],
  ]
  for (const [content, message] of errors)
    await t.rejects(importProducts(pool, csvFile(content)), { message })
})
