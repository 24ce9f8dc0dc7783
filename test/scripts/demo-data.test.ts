// Tests the data of the demo: compares the products made of the Online Retail file with an
// independent computation from its text, and checks what the examples must show. demo.local.ts
// compares the quotes.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import {
  linkedQuoteNumber,
  readExampleProducts,
  readExampleQuotes,
  rejectForeignData,
  toCsv,
} from '../../scripts/demo/load-data.ts'
import { listRetailProducts, readInvoiceLines } from '../../scripts/demo/online-retail.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { testDatabase } from '../support/database/test-database.ts'

const demoData = join(import.meta.dirname, '../../demo')
const file = readFileSync(join(demoData, 'online_retail_2010_2011.csv.gz'))

// Split without the CSV parser: no field contains a line break.
const rawLines = gunzipSync(file)
  .toString('utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line) => {
    if (!line.includes('"')) return line.split(',')
    const fields = line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? []
    return fields
      .slice(0, 8)
      .map((field) => field.replace(/,$/, '').replace(/^"|"$/g, '').replaceAll('""', '"'))
  })
const invoiceLines = await readInvoiceLines()

type Row = Record<string, string>
const readCsv = (text: string) => parse(text, { columns: true }) as Row[]

/** A decimal in thousandths, exactly: no price in the file has more decimals. */
function thousandths(decimal: string): number {
  const [whole = '', decimals = ''] = decimal.split('.')
  return Number(whole + decimals.padEnd(3, '0'))
}

t.test('the Online Retail file is unchanged', async (t) => {
  const hash = createHash('sha256').update(file).digest('hex')
  t.equal(hash, '85710de829cda40f12ca61ffa74fc5289ba6946f18c905f57390bf5db90ccbb1')
  t.match(readFileSync(join(demoData, 'NOTICE.md'), 'utf8'), hash, 'NOTICE.md states the hash')
})

t.test('the products are the codes of the file that have a name', async (t) => {
  const byCode = Map.groupBy(rawLines, ([, code = '']) => code.toUpperCase())
  const expected = new Map<string, { name: string | undefined; price: string }>()
  for (const [code, lines] of byCode) {
    const names = lines
      .map(([, , description = '']) => description)
      .filter((name) => /[A-Z]/.test(name))
    const uses = [...Map.groupBy(names, (name) => name)]
    const most = Math.max(...uses.map(([, same]) => same.length))
    const price =
      lines.map((line) => line[5] ?? '').findLast((price) => thousandths(price) > 0) ?? ''
    if (names.length > 0)
      expected.set(code, { name: uses.find(([, same]) => same.length === most)?.[0], price })
    else t.equal(price, '', `${code} has no name and was never sold`)
  }
  t.same([byCode.size, expected.size], [3_958, 3_837])
  const products = listRetailProducts(invoiceLines)
  t.equal(products.filter(({ price }) => price === '').length, 9)
  t.equal(new Set(products.map(({ sku }) => sku)).symmetricDifference(expected).size, 0)
  const wrong = products.filter(({ sku, name, price, currency }) => {
    const product = expected.get(sku)
    return name !== product?.name || price !== product.price || currency !== (price && 'GBP')
  })
  t.same(wrong, [])
  t.match(
    products.find(({ sku }) => sku === '22041'),
    { name: 'RECORD FRAME 7" SINGLE SIZE', unit: 'C62', currency: 'GBP' },
  )
})

t.test('rows written as CSV are read back unchanged', async (t) => {
  const rows = Array.from({ length: 2_001 }, (_, n) => ({
    a: `${n}`,
    b: '"1", 2',
    c: 'ñ\n',
    d: '',
  }))
  t.same(readCsv([...toCsv(rows)].join('')), rows)
})

const features: Record<string, (row: Row, today: string) => boolean | undefined> = {
  'a newer version': ({ version }) => version === '2',
  'sent and still valid': (row, today) => row.status === 'sent' && `${row.valid_until}` > today,
  'sent and past its validity': (row, today) =>
    row.status === 'sent' && `${row.valid_until}` < today,
  'an exempt export': (row) => row.country === 'US' && /exempt from VAT/.test(`${row.notes}`),
  'an intra-Community supply': (row) =>
    row.country === 'DE' && row.tax_rate === '0' && /Intra-Community/.test(`${row.notes}`),
  'a discount': ({ discount_percent }) => discount_percent !== '',
  'an Incoterm with its place': (row) =>
    row.incoterm === 'CIF' && row.incoterm_place === 'Yokohama',
  'a fraction of a unit': (row) => row.unit === 'KGM' && row.quantity?.includes('.'),
  'a price with four decimals': (row) => /\.\d{4}$/.test(`${row.unit_price}`),
  'a buyer in an unknown country': (row) => row.country === '' && row.status === 'sent',
  'an address of several lines': ({ customer_address }) => customer_address?.includes('\n'),
  'internal notes': ({ internal_notes }) => internal_notes?.includes('margen 23 %'),
  ...Object.fromEntries(
    Object.entries({ 21: '5.2', 10: '1.4', 4: '0.5' }).flatMap(([tax, surcharge]) =>
      ['', surcharge].map((rate) => [
        `IVA ${tax} with recargo ${rate}`,
        (row: Row) => row.tax_rate === tax && row.surcharge_rate === rate,
      ]),
    ),
  ),
}

for (const today of ['2026-11-21', '2028-02-29', '2027-01-01'])
  t.test(`the examples show every feature on ${today}`, async (t) => {
    const rows = readCsv(readExampleQuotes(today))
    const quotes = [
      ...Map.groupBy(rows, ({ number, version }) => `${number} ${version}`).values(),
    ].flatMap((lines) => lines.slice(0, 1))
    const valuesOf = (column: string) =>
      [...new Set(quotes.map((quote) => quote[column]))].sort().join(' ')
    t.equal(quotes.length, 32)
    for (const [feature, hasFeature] of Object.entries(features))
      t.ok(
        rows.some((row) => hasFeature(row, today)),
        feature,
      )
    t.equal(valuesOf('status'), 'accepted draft expired rejected sent')
    t.equal(valuesOf('currency'), 'CHF CLP EUR GBP JPY KWD USD')
    t.equal(valuesOf('language'), 'en es')
    t.same(
      quotes.filter(({ rate }) => rate === '').map(({ status }) => status),
      ['accepted'],
      'one accepted quote has no rate',
    )
    const longest = Math.max(
      ...Map.groupBy(rows, ({ number }) => number)
        .values()
        .map((lines) => lines.length),
    )
    t.ok(longest >= 60, 'a long table')
    const wrong = quotes.filter((quote) => {
      const { number = '', notes = '', status, currency, rate } = quote
      const { issued_on = '', valid_until = '', decided_on = '' } = quote
      const isDecided = status === 'accepted' || status === 'rejected'
      return (
        !/^EJ-\d{3}$/.test(number) ||
        !/^(Ejemplo|Example): /.test(notes) ||
        (currency === 'GBP') !== (rate === '1') ||
        issued_on > today ||
        (valid_until !== '' && valid_until < issued_on) ||
        isDecided !== (decided_on !== '') ||
        (isDecided && decided_on < issued_on) ||
        decided_on > today
      )
    })
    t.same(wrong, [], 'every quote is marked as an example and has consistent dates')
    t.notOk(rows.some((row) => row.currency === 'JPY' && row.unit_price?.includes('.')))
  })

t.test('the quote of the printed link is still valid and has every kind of line', async (t) => {
  const rows = readCsv(readExampleQuotes('2026-11-21')).filter(
    ({ number }) => number === linkedQuoteNumber,
  )
  t.ok(rows.length >= 10)
  t.match(rows[0], {
    status: 'sent',
    language: 'es',
    currency: 'EUR',
    country: 'ES',
    incoterm: 'DAP',
    valid_until: '2026-12-17',
  })
  t.same([...new Set(rows.map(({ tax_rate }) => tax_rate))].sort(), ['10', '21', '4'])
  t.ok(rows.some(({ surcharge_rate }) => surcharge_rate === ''))
  t.ok(rows.some(({ discount_percent }) => discount_percent !== ''))
})

t.test('every example product is in an example quote', async (t) => {
  const skus = readCsv(readExampleProducts()).map(({ sku }) => sku)
  const quoted = new Set(readCsv(readExampleQuotes('2026-11-21')).map(({ sku }) => sku))
  t.equal(new Set(skus).size, skus.length)
  t.ok(quoted.isSupersetOf(new Set(skus)))
})

t.test('the demo company is a valid company file', async (t) => {
  t.match(readCompany(join(demoData, 'company.json')), {
    baseCurrency: 'GBP',
    timeZone: 'Europe/London',
    seller: { country: 'GB', language: 'es' },
  })
})

t.test('refuses to load the demo data into a database with other data', async (t) => {
  const { db } = await testDatabase(t)
  await rejectForeignData(db)
  await db.insertInto('products').values({ sku: 'OWN-1', name: 'Martillo' }).execute()
  await t.rejects(rejectForeignData(db), /data that is not the demo’s/)
  await db.insertInto('products').values({ sku: '85123A', name: 'White heart' }).execute()
  await t.resolves(rejectForeignData(db), 'what an interrupted load has left is accepted')
})
