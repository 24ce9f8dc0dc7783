// Tests the demo data: compares the products and quotes made of the Online Retail file with an
// independent computation from its text, and checks what the examples must show.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { demoProductColumns, toCsv } from '../../scripts/demo/csv-rows.ts'
import {
  exampleProducts,
  exampleQuotes,
  linkedQuoteNumber,
} from '../../scripts/demo/invented-data/example-rows.ts'
import { rejectForeignData } from '../../scripts/demo/load-demo-data.ts'
import {
  emptyProductsSummary,
  emptyQuotesSummary,
  onlineRetailQuoteColumns,
  readInvoiceLines,
  readOnlineRetailProducts,
  readOnlineRetailQuotes,
} from '../../scripts/demo/real-data/online-retail-data.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { quoteColumns } from '../../src/imports/file-format.ts'
import { testDatabase } from '../support/database/test-database.ts'

const file = join(import.meta.dirname, '../../demo/online_retail_2010_2011.csv.gz')

// Split without the CSV parser: no field contains a line break.
const rawLines = gunzipSync(readFileSync(file))
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

// Parsed once for both tests, which takes several seconds.
const invoiceLines = await Array.fromAsync(readInvoiceLines(file))

/** A decimal in thousandths, exactly: no price in the file has more decimals. */
function thousandths(decimal: string): number {
  const [whole = '', decimals = ''] = decimal.split('.')
  return Number(whole + decimals.padEnd(3, '0'))
}

t.test('the Online Retail file is unchanged', async (t) => {
  const hash = createHash('sha256').update(readFileSync(file)).digest('hex')
  t.equal(hash, '85710de829cda40f12ca61ffa74fc5289ba6946f18c905f57390bf5db90ccbb1')
  t.match(
    readFileSync(new URL('../../demo/NOTICE.md', import.meta.url), 'utf8'),
    hash,
    'NOTICE.md states the hash',
  )
})

t.test('the quotes equal the invoices of the file, to the last digit', async (t) => {
  const expected = { rawLines: 0, lines: 0, accepted: 0, rejected: 0, gbAccepted: 0 }
  const invoices = {
    accepted: new Set<string>(),
    rejected: new Set<string>(),
    all: new Set<string>(),
  }
  for (const [invoice = '', , , quantity = '', , price = '', , country = ''] of rawLines) {
    expected.rawLines++
    invoices.all.add(invoice)
    const status = invoice.startsWith('C') ? 'rejected' : 'accepted'
    const unitPrice = thousandths(price)
    const net = Number(quantity) * (status === 'rejected' ? -1 : 1) * unitPrice
    if (invoice.startsWith('A') || net <= 0 || unitPrice <= 0) continue
    expected.lines++
    expected[status] += net
    if (status === 'accepted' && country === 'United Kingdom') expected.gbAccepted += net
    invoices[status].add(invoice)
  }
  t.same(expected, {
    rawLines: 541_909,
    lines: 539_391,
    accepted: 10_655_622_484,
    rejected: 896_812_490,
    gbAccepted: 9_014_160_024,
  })
  t.equal(invoices.all.size, 25_900)
  t.equal(invoices.accepted.size, 19_959)
  t.equal(invoices.rejected.size, 3_836)

  const summary = emptyQuotesSummary()
  const actual = { accepted: 0, rejected: 0, gbAccepted: 0 }
  const numbers = { accepted: new Set<string>(), rejected: new Set<string>() }
  const lastPosition = new Map<string, number>()
  const headers = new Map<string, string>()
  const invalid: unknown[] = []
  const samples: unknown[] = []
  const countries = new Set<string>()
  const quoteRows = (await Array.fromAsync(readOnlineRetailQuotes(invoiceLines, summary))).flat()
  for (const row of quoteRows) {
    const status = row.status === 'rejected' ? 'rejected' : 'accepted'
    const net = Number(row.quantity) * thousandths(row.unit_price)
    actual[status] += net
    if (status === 'accepted' && row.country === 'GB') actual.gbAccepted += net
    numbers[status].add(row.number)
    countries.add(row.country)
    const position = Number(row.position)
    const header =
      `${row.status} ${row.issued_on} ${row.decided_on} ` +
      `${row.customer_name} ${row.country} ${row.language}`
    const isValid =
      position === (lastPosition.get(row.number) ?? 0) + 1 &&
      header === (headers.get(row.number) ?? header) &&
      row.issued_on === row.decided_on &&
      (row.language === 'es') === (row.country === 'ES') &&
      net > 0 &&
      row.description !== '' &&
      row.sku === row.sku.toUpperCase()
    if (!isValid) invalid.push(row)
    lastPosition.set(row.number, position)
    headers.set(row.number, header)
    if (row.number === 'C536379' || (row.number === '536365' && position === 1)) samples.push(row)
  }
  t.same(
    invalid,
    [],
    'each quote has positions 1 to n, one header, and positive lines with a description',
  )
  t.same(actual, {
    accepted: expected.accepted,
    rejected: expected.rejected,
    gbAccepted: expected.gbAccepted,
  })
  t.equal(numbers.accepted.symmetricDifference(invoices.accepted).size, 0)
  t.equal(numbers.rejected.symmetricDifference(invoices.rejected).size, 0)
  t.same(summary, {
    accepted: 19_959,
    rejected: 3_836,
    lines: 539_391,
    quantityNotAboveZero: 1_336,
    priceNotAboveZero: 1_179,
    invoicesWithoutLines: 2_102,
    adjustmentInvoices: 3,
    adjustmentLines: 3,
  })
  t.equal(
    summary.lines +
      summary.quantityNotAboveZero +
      summary.priceNotAboveZero +
      summary.adjustmentLines,
    expected.rawLines,
  )
  t.same(
    [...countries].sort().join(' '),
    ' AE AT AU BE BH BR CA CH CY CZ DE DK ES FI FR GB GR HK IE IL IS IT JE JP LB LT MT NL NO ' +
      'PL PT SA SE SG US ZA',
  )
  t.match(samples, [
    {
      number: '536365',
      status: 'accepted',
      issued_on: '2010-12-01',
      customer_name: 'Customer 17850',
      sku: '85123A',
      description: 'WHITE HANGING HEART T-LIGHT HOLDER',
      quantity: '6',
      unit_price: '2.55',
      currency: 'GBP',
      rate: '1',
    },
    {
      number: 'C536379',
      status: 'rejected',
      issued_on: '2010-12-01',
      sku: 'D',
      description: 'Discount',
      quantity: '1',
      unit_price: '27.5',
    },
  ])
})

t.test('the products are the codes of the file that have a name', async (t) => {
  const byCode = Map.groupBy(rawLines, ([, code = '']) => code.toUpperCase())
  const expected = new Map<string, { names: string[]; price: string }>()
  for (const [code, lines] of byCode) {
    const names = lines
      .map(([, , description = '']) => description)
      .filter((name) => /[A-Z]/.test(name))
    const counts = [...Map.groupBy(names, (name) => name)].map(([name, uses]) => ({
      name,
      uses: uses.length,
    }))
    const most = Math.max(...counts.map(({ uses }) => uses))
    const price =
      lines.map((line) => line[5] ?? '').findLast((price) => thousandths(price) > 0) ?? ''
    if (names.length > 0)
      expected.set(code, {
        names: counts.filter(({ uses }) => uses === most).map(({ name }) => name),
        price,
      })
    else t.equal(price, '', `${code} has no name and was never sold`)
  }
  t.equal(byCode.size, 3_958)
  t.equal(expected.size, 3_837)

  const summary = emptyProductsSummary()
  const products = await readOnlineRetailProducts(invoiceLines, summary)
  t.same(summary, { codes: 3_958, products: 3_837, withoutName: 121, withoutPrice: 9 })
  t.equal(new Set(products.map(({ sku }) => sku)).symmetricDifference(expected).size, 0)
  const wrong = products.filter(({ sku, name, price, currency }) => {
    const product = expected.get(sku)
    return name !== product?.names[0] || price !== product.price || currency !== (price && 'GBP')
  })
  t.same(wrong, [])
  t.match(
    products.find(({ sku }) => sku === '22041'),
    { name: 'RECORD FRAME 7" SINGLE SIZE', unit: 'C62', currency: 'GBP', active: 'true' },
  )
})

t.test('rows written as CSV are read back unchanged', async (t) => {
  const quotes = exampleQuotes('2026-03-01')
  t.same(
    parse(await text(toCsv([quotes], quoteColumns)), { columns: true }),
    quotes,
    'with quotation marks, commas, accents and line breaks in a field',
  )
  const products = exampleProducts()
  t.same(parse(await text(toCsv([products], demoProductColumns)), { columns: true }), products)
  t.equal(
    await text(toCsv([], onlineRetailQuoteColumns)),
    `${onlineRetailQuoteColumns.join(',')}\n`,
    'without rows there is only the header',
  )
  const many = Array.from({ length: 5_001 }, (_, index) => ({ position: String(index) }))
  t.same(
    parse(await text(toCsv([many.slice(0, 2_000), many.slice(2_000)], ['position'])), {
      columns: true,
    }),
    many,
    'in several chunks',
  )
})

t.test('the examples show every feature, whatever the day', async (t) => {
  for (const today of ['2026-11-21', '2028-02-29', '2027-01-01']) {
    const rows = exampleQuotes(today)
    const quotes = [
      ...Map.groupBy(rows, ({ number, version }) => `${number} ${version}`).values(),
    ].flatMap((lines) => lines.slice(0, 1))
    t.equal(quotes.length, 32)
    const hasRow = (feature: string, test: (row: (typeof rows)[number]) => boolean) =>
      t.ok(rows.some(test), `${today}: ${feature}`)

    t.same([...new Set(quotes.map(({ status }) => status))].sort(), [
      'accepted',
      'draft',
      'expired',
      'rejected',
      'sent',
    ])
    t.ok(
      new Set(quotes.map(({ currency }) => currency)).isSupersetOf(
        new Set(['EUR', 'USD', 'JPY', 'KWD', 'GBP']),
      ),
    )
    t.same([...new Set(quotes.map(({ language }) => language))].sort(), ['en', 'es'])
    t.same(
      quotes.filter(({ rate }) => rate === '').map(({ status }) => status),
      ['accepted'],
      'one accepted quote has no rate',
    )
    t.ok(
      quotes.every(({ currency, rate }) => (currency === 'GBP') === (rate === '1')),
      'the base currency has rate 1',
    )
    hasRow('a newer version', ({ version }) => version === '2')
    hasRow(
      'sent and still valid',
      ({ status, valid_until }) => status === 'sent' && valid_until > today,
    )
    hasRow(
      'sent and past its validity',
      ({ status, valid_until }) => status === 'sent' && valid_until < today,
    )
    for (const [tax, surcharge] of Object.entries({ 21: '5.2', 10: '1.4', 4: '0.5' })) {
      hasRow(
        `IVA ${tax} without recargo`,
        (row) => row.tax_rate === tax && row.surcharge_rate === '',
      )
      hasRow(
        `IVA ${tax} with recargo ${surcharge}`,
        (row) => row.tax_rate === tax && row.surcharge_rate === surcharge,
      )
    }
    hasRow(
      'an exempt export',
      (row) => row.country === 'US' && row.tax_rate === '0' && /exempt from VAT/.test(row.notes),
    )
    hasRow(
      'an intra-Community supply',
      (row) => row.country === 'DE' && row.tax_rate === '0' && /Intra-Community/.test(row.notes),
    )
    hasRow('a discount', ({ discount_percent }) => discount_percent !== '')
    hasRow(
      'an Incoterm with its place',
      ({ incoterm, incoterm_place }) => incoterm === 'CIF' && incoterm_place === 'Yokohama',
    )
    hasRow('a fraction of a unit', ({ quantity, unit }) => unit === 'KGM' && quantity.includes('.'))
    hasRow('a price with four decimals', ({ unit_price }) => /\.\d{4}$/.test(unit_price))
    hasRow(
      'a buyer in an unknown country',
      ({ country, status }) => country === '' && status === 'sent',
    )
    hasRow('an address of several lines', ({ customer_address }) => customer_address.includes('\n'))
    hasRow('internal notes', ({ internal_notes }) => internal_notes.includes('margen 23 %'))
    t.ok(
      [...Map.groupBy(rows, ({ number }) => number).values()].some((lines) => lines.length >= 60),
      'a long table',
    )

    t.same(
      quotes.filter(
        ({ number, notes }) => !/^EJ-\d{3}$/.test(number) || !/^(Ejemplo|Example): /.test(notes),
      ),
      [],
      'every quote is marked as an example',
    )
    const badDates = quotes.filter(({ status, issued_on, valid_until, decided_on }) => {
      const decided = status === 'accepted' || status === 'rejected'
      return (
        issued_on > today ||
        valid_until < issued_on ||
        decided !== (decided_on !== '') ||
        (decided && decided_on < issued_on) ||
        decided_on > today
      )
    })
    t.same(badDates, [], 'every quote has consistent dates')
    t.same(
      rows.filter(({ currency, unit_price }) => currency === 'JPY' && unit_price.includes('.')),
      [],
      'the yen has no decimals',
    )
  }
})

t.test(
  'the quote of the printed link is sent, still valid, and has every kind of line',
  async (t) => {
    const rows = exampleQuotes('2026-11-21').filter(({ number }) => number === linkedQuoteNumber)
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
    t.ok(
      rows.some(({ surcharge_rate }) => surcharge_rate === '') &&
        rows.some(({ discount_percent }) => discount_percent !== ''),
    )
  },
)

t.test('every example product is in an example quote', async (t) => {
  const products = exampleProducts()
  const quoted = new Set(exampleQuotes('2026-11-21').map(({ sku }) => sku))
  t.equal(new Set(products.map(({ sku }) => sku)).size, products.length)
  t.ok(quoted.isSupersetOf(new Set(products.map(({ sku }) => sku))))
  t.match(
    products.find(({ sku }) => sku === 'AB-742-X'),
    {
      name: 'Martillo de bola 300 g',
      price: '12.50',
      currency: 'EUR',
      hs_code: '820520',
      origin_country: 'ES',
      unit: 'C62',
    },
  )
  t.same(
    products.filter(
      ({ hs_code, unit, origin_country }) =>
        !/^\d{6}$/.test(hs_code) ||
        !/^[A-Z0-9]{2,3}$/.test(unit) ||
        !/^[A-Z]{2}$/.test(origin_country),
    ),
    [],
  )
})

t.test('the demo company is a valid company file', async (t) => {
  const company = readCompany(join(import.meta.dirname, '../../demo/company.json'))
  t.match(company, {
    baseCurrency: 'GBP',
    timeZone: 'Europe/London',
    seller: { country: 'GB', language: 'es' },
  })
})

t.test('refuses to load the demo data into a database with other data', async (t) => {
  const { db } = await testDatabase(t)
  await rejectForeignData(db)
  await db.insertInto('products').values({ sku: 'OWN-1', name: 'Martillo', unit: 'C62' }).execute()
  await t.rejects(rejectForeignData(db), /data that is not the demo’s/)
  await db
    .insertInto('products')
    .values({ sku: '85123A', name: 'White hanging heart', unit: 'C62' })
    .execute()
  await t.resolves(rejectForeignData(db), 'what an interrupted load has left is accepted')
})
