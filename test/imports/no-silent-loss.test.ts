// What an import must not do without a word: empty values, keep damaged SKUs, take fractions for
// percentages. And statuses, which change nothing else.
import { sql } from 'kysely'
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuoteStatuses } from '../../src/imports/quotes/import-quote-statuses.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { collectRejectedRows, csvFile, deleteProducts, readProducts } from './import-files.ts'
import { runScript } from './import-script.ts'

const database = await testDatabase(t)
const { pool } = database
t.beforeEach(async () => {
  await deleteProducts(database)
  await database.db.deleteFrom('quotes').execute()
})

const readQuotes = async (columns: string) =>
  (await sql`select ${sql.raw(columns)} from quotes order by number, version`.execute(database.db))
    .rows

const full =
  'number,status,issued_on,valid_until,decided_on,customer_name,customer_tax_id,country,currency,' +
  'rate,incoterm,incoterm_place,notes,description,quantity,unit_price\n' +
  'Q-1,accepted,2026-03-01,2026-03-31,2026-03-09,Ana,B1,ES,USD,0.92,FOB,Vigo,Sin portes,Tubo,2,10.50\n'
const kept = 'valid_until, decided_on, customer_name, customer_tax_id, rate, incoterm_place, notes'

t.test('a quote keeps the fields whose columns a file does not have', async (t) => {
  const required = 'number,status,issued_on,currency,description,quantity,unit_price'
  const cases: [file: string, changes: Record<string, unknown>][] = [
    [`${required}\nQ-1,accepted,2026-03-01,USD,Tubo,3,10.50\n`, {}],
    [`${required}\nQ-1,sent,2026-03-01,USD,Tubo,2,10.50\n`, { decided_on: null }],
    [`${required}\nQ-1,accepted,2026-03-01,GBP,Tubo,2,10.50\n`, { rate: null }],
    [`${required}\nQ-1,accepted,2026-03-08,USD,Tubo,2,10.50\n`, {}],
    [`${required},notes\nQ-1,accepted,2026-03-01,USD,Tubo,2,10.50,\n`, { notes: null }],
    [`${required},customer_name\nQ-1,accepted,2026-03-01,USD,Tubo,2,10.50,Ana\n`, {}],
    [
      `${required},customer_name\nQ-1,accepted,2026-03-01,USD,Tubo,2,10.50,Eva\n`,
      { customer_name: 'Eva', customer_tax_id: null },
    ],
    [
      `${required},incoterm\nQ-1,accepted,2026-03-01,USD,Tubo,2,10.50,EXW\n`,
      { incoterm_place: null },
    ],
  ]
  for (const [file, changes] of cases) {
    await database.db.deleteFrom('quotes').execute()
    await importQuotes(pool, csvFile(full))
    const [before] = (await readQuotes(kept)) as Record<string, unknown>[]
    t.match(await importQuotes(pool, csvFile(file)), { inserted: 0 })
    t.same(await readQuotes(kept), [{ ...before, ...changes }], file)
  }
  await importQuotes(pool, csvFile(cases[0]?.[0] ?? ''), { isReplacing: true })
  t.match(await readQuotes(kept), [{ notes: null, valid_until: null, customer_name: null }])
})

t.test('columns of lines are lost only with --replace', async (t) => {
  const { importer } = database.roles
  const required = 'number,status,issued_on,currency,description,quantity,unit_price'
  const row = 'Q-1,sent,2026-03-01,EUR,Tubo,2,10.50'
  await importQuotes(pool, csvFile(`${required},tax_rate,discount_percent\n${row},21,0\n`))
  const file = `${required}\n${row}\n`
  t.match(await runScript(['quotes', '-'], importer, file), {
    status: 1,
    stderr: /no column tax_rate, but lines .* \(tax_rate in 1, such as Q-1\).*--replace/,
  })
  t.match(await readQuotes('tax'), [{ tax: '4.41' }])
  t.match(await runScript(['quotes', '-', '--replace'], importer, file), {
    status: 3,
    stdout: /1 quote to send that is valid without end/,
  })
  t.match(await readQuotes('tax'), [{ tax: '0' }])
  t.match(await runScript(['quotes', '-'], importer, file), { status: 3, stdout: /1 unchanged/ })
})

t.test('rejects SKUs that a spreadsheet has damaged, and cleans the others', async (t) => {
  const damaged: [sku: string, reason: RegExp][] = [
    ['8.41123E+12', /is a number with an exponent/],
    ['"=""00123"""', /begins with a mark that a spreadsheet uses/],
    ["'00123", /begins with a mark/],
    ['#REF!', /is an error of a spreadsheet/],
    ['"A\n1"', /"A 1" has a line break/],
  ]
  for (const [sku, message] of damaged)
    await t.rejects(importProducts(pool, csvFile(`sku,name\n${sku},Tubo\n`)), { message })
  const odd = ['A\u200b1', '\u00a0A2\u00ad', 'ca\u0301n\u0303o', 'B\u00a01']
  const rows = odd.map((sku) => `${sku},Tubo  de\u00a0 acero\n`).join('')
  t.match(await importProducts(pool, csvFile(`sku,name\nplain,x\n${rows}`)), {
    warnings: [{ kind: 'invisible_characters', count: 4, examples: ['line 3: A1', 'line 4: A2'] }],
  })
  const found = await readProducts(database)
  t.same(
    found.map(({ sku }) => sku),
    ['plain', 'A1', 'A2', 'cáño', 'B 1'],
  )
  t.equal(found[1]?.name, 'Tubo de acero')
})

t.test('warns of SKUs that differ only by case or blanks, and of unknown units once', async (t) => {
  await importProducts(pool, csvFile('sku,name\nDC-1,Tubo\nX 1,Tubo\n'))
  const file = 'sku,name,unit\ndc-1,Tubo,UD\nX1,Tubo,QQ\nE-1,Tubo,QQ\ne-1,Tubo,kg\nX 1,Codo,C62\n'
  const summary = await importProducts(pool, csvFile(file))
  t.match(summary.warnings, [
    {
      kind: 'similar_skus',
      count: 4,
      examples: [
        'line 2: "dc-1" beside "DC-1" in the database',
        'line 3: "X 1" beside "X1"',
        'line 3: "X1" beside "X 1" in the database',
        'line 4: "E-1" beside "e-1"',
      ],
    },
    { kind: 'unknown_units', count: 1, examples: ['QQ, first on line 3'] },
  ])
  t.match(await readProducts(database), [
    {},
    { unit: 'C62' },
    { unit: 'C62' },
    {},
    {},
    { unit: 'KGM' },
  ])
  t.match((await importProducts(pool, csvFile(file.replaceAll('QQ', 'C62')))).warnings, [
    { count: 2 },
  ])
  await t.rejects(importProducts(pool, csvFile(file), { isStrict: true }), { message: /--strict/ })
})

t.test('warns of fractions where percentages are expected', async (t) => {
  const header =
    'number,status,issued_on,currency,description,quantity,unit_price,discount_percent,tax_rate\n'
  const importRates = (...rates: string[]) =>
    importQuotes(
      pool,
      csvFile(
        header +
          rates.map((rate, n) => `N-${n},rejected,2026-01-01,EUR,Chai,1,10,${rate}\n`).join(''),
      ),
    )
  t.match((await importRates('0.15,0.21', '0,0.21', '0.05,0.1')).warnings, [
    {
      kind: 'unusual_rate',
      count: 2,
      examples: [/^discount_percent: no value above 0 reaches 1 %, such as 0.05 %/, /^tax_rate: /],
    },
  ])
  t.same((await importRates('0.5,21', '15,0.5')).warnings, [])
})

t.test('imports statuses', async (t) => {
  const header =
    'number,version,status,issued_on,decided_on,currency,description,quantity,unit_price\n'
  await importQuotes(
    pool,
    csvFile(
      `${header}Q-1,1,sent,2026-01-01,,EUR,Tubo,1,10\nQ-1,2,sent,2026-01-05,,EUR,Tubo,1,10\n` +
        'Q-2,1,accepted,2026-01-01,2026-01-09,EUR,Tubo,1,10\nQ-3,1,draft,2026-01-01,,EUR,Tubo,1,10\n',
    ),
  )
  const importStatuses = (content: string) => importQuoteStatuses(pool, csvFile(content))
  t.match(
    await importStatuses(
      'Número;Estado;Fecha decisión\nQ-1;Aceptado;13/01/2026\nQ-2;ACCEPTED;\nQ-3;sent;\n',
    ),
    { read: 3, updated: 2, unchanged: 1 },
  )
  t.match(await readQuotes('version, status, decided_on'), [
    { version: 1, status: 'superseded', decided_on: null },
    { version: 2, status: 'accepted', decided_on: '2026-01-13' },
    { status: 'accepted', decided_on: '2026-01-09' },
    { status: 'sent', decided_on: null },
  ])
  t.match(await importStatuses('number,version,status\nQ-2,1,sent\n'), { updated: 1 })
  t.match((await readQuotes('decided_on'))[2], { decided_on: null })
  t.match(await importStatuses('number,estado\nQ-3,Retirado\n'), { updated: 1 })
  t.match((await readQuotes('status'))[3], { status: 'withdrawn' })
  t.match(await importStatuses('number,status\nQ-3,sent\n'), { updated: 1 })
  const invalid =
    'number,version,status,decided_on\nQ-9,,sent,\nQ-2,2,sent,\nQ-1,1,accepted,\nQ-2,,accepted,2025-12-31\n' +
    'Q-3,,sent,\nQ-3,1,sent,\nQ-1,,sent,2026-01-31\n,,sent,\nQ-2,x,won,\n'
  await t.rejects(importStatuses(invalid), {
    message: new RegExp(
      [
        'line 2: number: there is no quote Q-9',
        'line 3: number: there is no quote Q-2 version 2',
        'line 4: status: version 1 of quote Q-1 is superseded by a newer one',
        'line 5: decided_on: 2025-12-31 is before issued_on, 2026-01-01',
        'line 7: number: the quote is also on line 6',
        'line 8: decided_on: is given, but the status is sent.*',
        'line 9: number: is missing',
        'line 10: version: "x" is not a whole number.*',
      ].join('\n  '),
    ),
  })
  const rejected = collectRejectedRows()
  const options = { ...rejected, isDryRun: true }
  t.match(await importQuoteStatuses(pool, csvFile(`${invalid}Q-1,2,rejected,\n`), options), {
    read: 10,
    rejected: 8,
    updated: 1,
  })
  t.match((await readQuotes('status'))[1], { status: 'accepted' }, 'a dry run changes nothing')
})
