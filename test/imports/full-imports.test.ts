// Files with only some of the columns, and full files: what they remove, and up to which limit.
import { sql } from 'kysely'
import t from 'tap'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { testDatabase } from '../support/database/test-database.ts'
import {
  collectRejectedRows,
  csvFile,
  deleteProducts,
  readEveryRow,
  readImportError,
  readProducts,
} from './import-files.ts'

const database = await testDatabase(t)
const { pool } = database
t.beforeEach(() => deleteProducts(database))

/** Imports products S0 to S19. */
async function importTwenty(): Promise<void> {
  await importProducts(pool, csvFile(`sku,name,price,currency\n${productRows(0, 20)}`))
}
const productRows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `S${from + index},Tubo,1,EUR\n`).join('')

const readActive = async () =>
  (await readProducts(database)).filter(({ active }) => active).map(({ sku }) => sku)

t.test('a file with only some columns changes only these', async (t) => {
  await importTwenty()
  t.match(await importProducts(pool, csvFile('sku,active\nS0,no\nS1,yes\n')), {
    updated: 1,
    unchanged: 1,
  })
  t.match(await importProducts(pool, csvFile('sku,price\nS0,2.50\nS1,1.00\n')), {
    updated: 1,
    unchanged: 1,
  })
  t.match(await importProducts(pool, csvFile('currency,sku\nUSD,S2\n')), { updated: 1 })
  t.match(await importProducts(pool, csvFile('sku\nS3\n')), { updated: 0, unchanged: 1 })
  t.match((await readProducts(database)).slice(0, 4), [
    { name: 'Tubo', price: '2.50', currency: 'EUR', active: false },
    { name: 'Tubo', price: '1', currency: 'EUR', active: true },
    { name: 'Tubo', price: '1', currency: 'USD', active: true },
    { name: 'Tubo', price: '1', currency: 'EUR', active: true },
  ])
})

t.test('a file with only some columns is rejected if a product would be incomplete', async (t) => {
  await importProducts(pool, csvFile('sku,name,price,currency\nA,Tubo,,\nB,Tubo,1,EUR\n'))
  const cases: [content: string, message: RegExp][] = [
    ['sku,active\nN,no\n', /line 2: sku: there is no such product yet, and .* column name/],
    ['sku,price\nA,1\n', /line 2: price: the product has no currency: add the column currency/],
    ['sku,price\nB,\n', /line 2: price: is empty, but the product has a currency/],
    ['sku,currency\nA,EUR\n', /line 2: currency: the product has no price/],
    ['sku,name,price\nN,Tubo,1\n', /line 2: price: the product has no currency/],
  ]
  for (const [content, message] of cases)
    t.match(await readImportError(t, database, content), message, content)
})

t.test('--full makes products inactive that are not in the file, and is idempotent', async (t) => {
  await importTwenty()
  const file = `sku,name,price,currency\n${productRows(2, 20)}N,Nuevo,1,EUR\n`
  t.match(await importProducts(pool, csvFile(file), { isFull: true }), {
    inserted: 1,
    updated: 0,
    unchanged: 18,
    deactivated: 2,
    deactivatedSkus: ['S0', 'S1'],
  })
  t.notOk((await readActive()).some((sku) => sku === 'S0' || sku === 'S1'))
  const before = await readEveryRow(database)
  t.match(await importProducts(pool, csvFile(file), { isFull: true }), {
    inserted: 0,
    updated: 0,
    unchanged: 19,
    deactivated: 0,
    deactivatedSkus: [],
  })
  t.same(await readEveryRow(database), before, 'the second import writes nothing')
  const back = `${file}S0,Tubo,1,EUR\n`
  t.match(await importProducts(pool, csvFile(back), { isFull: true }), { updated: 1 })
  t.ok((await readActive()).includes('S0'), 'a product that comes back is active again')
})

t.test(
  '--full is rejected if it would make more products inactive than the limit allows',
  async (t) => {
    await importTwenty()
    const file = `sku,name,price,currency\n${productRows(3, 20)}`
    const before = await readEveryRow(database)
    await t.rejects(importProducts(pool, csvFile(file), { isFull: true }), {
      message:
        /lacks 3 of 20 active products \(S0, S1, S2\).* limit is 10 %.*--allow-removals 15%\.$/,
    })
    await t.rejects(importProducts(pool, csvFile('sku\n'), { isFull: true }), {
      message: /lacks 20 of 20 active products \(S0, S1, S10, S11, S12, …\).*--allow-removals 100%/,
    })
    t.same(await readEveryRow(database), before)
    const allowed = { isFull: true, deactivationLimitPercent: 15 }
    t.match(await importProducts(pool, csvFile(file), allowed), { deactivated: 3 })
  },
)

t.test('--full does not change products whose row is rejected', async (t) => {
  await importTwenty()
  const file = `sku,name,price,currency\nS0,Tubo,x,EUR\nS1,Tubo,1,EUR,x\n${productRows(2, 20)}`
  const summary = await importProducts(pool, csvFile(file), {
    isFull: true,
    ...collectRejectedRows(),
  })
  t.match(summary, { rejected: 2, deactivated: 0 })
  t.equal((await readActive()).length, 20)
})

t.test('--full makes nothing inactive if the SKU of a rejected row is unknown', async (t) => {
  await importTwenty()
  const before = await readEveryRow(database)
  const importFull = (rows: string) =>
    importProducts(pool, csvFile(`name,sku,price,currency\n${rows}`), {
      isFull: true,
      ...collectRejectedRows(),
    })
  const others = Array.from({ length: 19 }, (_, index) => `Tubo,S${index + 1},1,EUR\n`).join('')
  for (const row of ['Tubo, largo,S0,1,EUR\n', 'Tubo,,1,EUR\n'])
    await t.rejects(
      importFull(row + others),
      {
        message: new RegExp(
          '^The sku of an invalid row is unknown, so nothing was imported:\\n  line 2: .*\\n' +
            'The file lacks 1 active product\\. Correct this first: --full would make',
        ),
      },
      row,
    )
  t.same(await readEveryRow(database), before)
  t.match(
    await importFull(`Codo,,1,EUR\nTubo,S0,1,EUR\n${others}`),
    { rejected: 1, deactivated: 0, unchanged: 20 },
    'such a row does no harm if the file lacks no product',
  )
})

t.test(
  'a full file of quotes causes a warning that names the quotes missing from it',
  async (t) => {
    const header = 'number,version,status,issued_on,currency,description,quantity,unit_price\n'
    const quote = (number: string, day: string, version = 1) =>
      `${number},${version},sent,${day},EUR,Tubo,1,1\n`
    const all = [
      quote('A', '2026-01-31'),
      quote('B', '2026-02-01'),
      quote('C', '2026-02-14'),
      quote('C', '2026-02-15', 2),
      quote('D', '2026-02-28'),
      quote('E', '2026-03-01'),
    ]
    await importQuotes(pool, csvFile(header + all.join('')))
    const options = { fullPeriod: { from: '2026-02-01', to: '2026-02-28' } }
    const complete = header + [all[1], all[3], all[4]].join('')
    t.match((await importQuotes(pool, csvFile(complete), options)).warnings, [])
    t.match(await importQuotes(pool, csvFile(header + all[3]), options), {
      warnings: [
        {
          kind: 'missing_quotes',
          count: 2,
          examples: [
            'quote B version 1 of 2026-02-01, sent',
            'quote D version 1 of 2026-02-28, sent',
          ],
        },
      ],
    })
    const { rows } = await sql`select count(*)::integer as quotes from quotes`.execute(database.db)
    t.same(rows, [{ quotes: 6 }], 'no quote is deleted')
    await t.rejects(importQuotes(pool, csvFile(header + all[3]), { ...options, isStrict: true }), {
      message: /2 quotes in the period that are not in the file; they were not changed/,
    })
  },
)
