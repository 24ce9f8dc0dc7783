// Odd quotes, imported from a file: the amounts were computed by hand, and the JSON, the page, the
// PDF and the statistics must show them.
import { sql } from 'kysely'
import t from 'tap'
import { recordCompany } from '../../src/company/company-record.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { recordLanguages } from '../../src/quotes/record-languages.ts'
import type { LinkedQuote } from '../../src/quotes/schema.ts'
import { findQuotesWithWrongTotals } from '../../src/stats/summary/check-months.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { csvFile } from '../imports/import-files.ts'
import { company } from '../support/database/company.ts'
import { getVisibleText, removeScreenOnly } from '../support/quotes/linked-quote.ts'
import { readPdfPages, removeSpace } from '../support/quotes/read-pdf.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { testService } from '../support/service/test-service.ts'

waitLongForRenderings(t)

type Row = Record<string, string>
type OddQuote = {
  quote?: Row
  /** The seller's country. Default: ES. */
  seller?: string
  lines: Row[]
  /** Net, and total with taxes. */
  totals: [net: string, gross: string]
  /** Texts of both page and PDF, without blanks, and texts that neither has. */
  shown: string[]
  hidden?: string[]
}

const line = (price: string, tax_rate: string, others: Row = {}) => ({
  description: 'Tubo',
  quantity: '1',
  unit_price: price,
  tax_rate,
  ...others,
})
const across = (kind: 'heading' | 'text', description: string) => ({ kind, description })

const oddQuotes: Record<string, OddQuote> = {
  'five rates share a percentage': {
    quote: { global_discount_percent: '7.5' },
    lines: [
      line('33.33', '21', { quantity: '3' }),
      line('1.15', '10', { quantity: '7' }),
      line('0.99', '4'),
      line('5', '0', { quantity: '2', tax_reason: 'exempt' }),
      line('4.44', ''),
    ],
    totals: ['114.21', '134.42'],
    shown: [
      'Subtotal123,47€Descuento7,5%-9,26€Totalneto114,21€',
      'IVA21%sobre92,49€19,42€IVA10%sobre7,45€0,75€IVA4%sobre0,91€0,04€',
      'IVA0%sobre9,25€0,00€',
      'sobre4,11€—Total134,42€',
      'Línea4:Operaciónexenta',
    ],
  },
  'sections, options and an amount': {
    quote: { global_discount_amount: '10' },
    lines: [
      across('heading', 'Obra'),
      line('50', '21', { quantity: '2' }),
      line('300', '21', { kind: 'optional', description: 'Grúa' }),
      across('text', 'Sin andamio'),
      across('heading', 'Acabados'),
      line('33.35', '10'),
    ],
    totals: ['123.35', '145.87'],
    shown: [
      'ObraSubtotal100,00€',
      'Opcional,noincluidoeneltotal',
      '300,00€',
      'Sinandamio',
      'AcabadosSubtotal33,35€',
      'Subtotal133,35€Descuento-10,00€Totalneto123,35€',
      'IVA21%sobre92,50€19,43€IVA10%sobre30,85€3,09€Total145,87€',
    ],
  },
  'withheld tax': {
    quote: { withholding_percent: '15', global_discount_percent: '50' },
    lines: [line('2000', '21')],
    totals: ['1000.00', '1210.00'],
    shown: [
      'Total1.210,00€RetenciónIRPF15%sobre1.000,00€-150,00€Importeapagar1.060,00€',
      'Subtotal2.000,00€Descuento50%-1.000,00€',
    ],
  },
  'nothing to pay': {
    quote: { withholding_percent: '15' },
    lines: [line('0', '21')],
    totals: ['0.00', '0.00'],
    shown: ['RetenciónIRPF15%sobre0,00€0,00€Importeapagar0,00€'],
    hidden: ['-0,00'],
  },
  // The discount of a sum below zero adds.
  'a discount of everything, below zero': {
    quote: { global_discount_percent: '100' },
    lines: [line('-50', '21'), line('20', '10')],
    totals: ['0.00', '0.00'],
    shown: ['Subtotal-30,00€Descuento100%30,00€', 'IVA21%sobre0,00€0,00€'],
    hidden: ['--'],
  },
  'a discount that rounds to everything, below zero': {
    quote: { global_discount_percent: '60' },
    lines: [line('-0.01', '21')],
    totals: ['0.00', '0.00'],
    shown: ['Descuento60%0,01€'],
  },
  'returns and deductions, with IGIC': {
    quote: { tax_label: 'IGIC' },
    lines: [
      line('100', '7', { quantity: '2' }),
      line('30', '7', { quantity: '-1', unit: 'C62' }),
      line('-12.345', '3'),
    ],
    totals: ['157.65', '169.18'],
    shown: [
      '-1ud.',
      '-30,00€',
      '-12,345€',
      'IGIC7%sobre170,00€11,90€IGIC3%sobre-12,35€-0,37€Total169,18€',
    ],
    hidden: ['IVA'],
  },
  'a total below zero': {
    lines: [line('10', '0', { tax_reason: 'Por convenio con la OTAN' }), line('-10', '21')],
    totals: ['0.00', '-2.10'],
    shown: ['IVA21%sobre-10,00€-2,10€', 'Total-2,10€', 'Línea1:PorconvenioconlaOTAN'],
  },
  'reasons for 0 % of goods and services': {
    quote: { country: 'PT', customer_name: 'Pedra', customer_address: 'Rua 1\n1000 Lisboa' },
    lines: [
      line('10', '0', { tax_reason: 'intra_community_goods' }),
      line('10', '0', { unit: 'HUR', tax_reason: 'intra_community_service' }),
    ],
    totals: ['20.00', '20.00'],
    shown: [
      'Pedra',
      '1000LisboaPortugal',
      'artículo25delaLey37/1992',
      'Línea2:Inversióndelsujetopasivo',
    ],
  },
  'a Mexican seller': {
    seller: 'MX',
    quote: { country: 'MX', customer_name: 'Cía', customer_tax_id: 'XAXX010101000' },
    lines: [line('1250', '16', { quantity: '1250', unit: 'MTK' })],
    totals: ['1562500.00', '1812500.00'],
    shown: ['RFCXAXX010101000', 'México', '1,250m²', 'EUR1,812,500.00'],
    hidden: ['NIFXAXX'],
  },
  'emoji and long prices': {
    quote: { notes: '✅ Portes 📦 incluidos 👍 ⭐ 🔧 🚚 ❌ ❗' },
    lines: [line('0.00125', '21', { quantity: '4000' })],
    totals: ['5.00', '6.05'],
    shown: ['✅Portes📦incluidos👍⭐🔧🚚❌❗', '0,00125€'],
  },
  'only an option': {
    lines: [line('300', '21', { kind: 'optional' })],
    totals: ['0.00', '0.00'],
    shown: ['Opcional,noincluidoeneltotal', 'Total0,00€'],
    hidden: ['IVA21%sobre'],
  },
}

const service = await testService(t, { index: false })
const { app, db, pool } = service
await recordLanguages(db)

async function readRepresentations(number: string) {
  const url = `/quote/share/${await createQuoteLink(db, { number })}`
  const json = (await app.inject(`${url}?format=json`)).json<LinkedQuote>()
  const page = getVisibleText(removeScreenOnly((await app.inject(url)).body))
  const pdf = await readPdfPages((await app.inject(`${url}?format=pdf`)).rawPayload)
  return { totals: json.document.totals, page: removeSpace(page), pdf: removeSpace(pdf.join('')) }
}

t.test('JSON, page, PDF and statistics of odd quotes have the amounts', async (t) => {
  const rows = Object.entries(oddQuotes).flatMap(([number, { quote, lines }]) =>
    lines.map((line) => ({
      number,
      status: 'accepted',
      issued_on: '2026-03-01',
      currency: 'EUR',
      ...quote,
      ...line,
    })),
  )
  const columns = [...new Set(rows.flatMap(Object.keys))]
  const lines = rows.map((row: Row) => columns.map((name) => `"${row[name] ?? ''}"`).join(','))
  await importQuotes(pool, csvFile([columns.join(','), ...lines].join('\n')), {
    format: { numbers: '.' },
  })
  t.same(await findQuotesWithWrongTotals(db), [])
  for (const [number, { seller, totals, shown, hidden = [] }] of Object.entries(oddQuotes)) {
    const country = seller ?? 'ES'
    await recordCompany(db, { ...company, seller: { ...company.seller, country } })
    const { page, pdf, totals: found } = await readRepresentations(number)
    t.same([found.net.amount, found.gross.amount], totals, number)
    for (const [name, text] of Object.entries({ page, pdf })) {
      for (const part of shown) t.ok(text.includes(part), `${number}, ${name}: ${part}\n${text}`)
      for (const part of hidden) t.notOk(text.includes(part), `${number}, ${name}: no ${part}`)
    }
  }
  await foldUntilCurrent(db)
  const { rows: figures } = await sql`
    select sum(own_net) as net from quote_figures where grain = 'year' and date_kind = 'issued'
  `.execute(db)
  const net = Object.values(oddQuotes).reduce((sum, { totals }) => sum + Number(totals[0]), 0)
  t.match(figures, [{ net: net.toFixed(2) }])
})

t.test('a quote without lines is shown, and nobody can accept it', async (t) => {
  await db
    .insertInto('quotes')
    .values({ number: 'EMPTY', status: 'sent', currency: 'EUR', issued_on: '2026-03-01' })
    .execute()
  const { page, pdf } = await readRepresentations('EMPTY')
  for (const text of [page, pdf]) {
    t.ok(text.includes('Total0,00€'), text)
    t.notMatch(text, /Aceptar|Descripción|Detalle/)
  }
})

t.test('a tax without a name has that of the language and the seller', async (t) => {
  for (const [language, country, label] of [
    ['es', 'ES', 'IVA'],
    ['en', 'GB', 'VAT'],
    ['en', 'AU', 'GST'],
    ['es', 'PE', 'IGV'],
    ['en', 'US', 'Sales tax'],
  ]) {
    const { rows } = await sql`select default_tax_label(${language}, ${country}) as label`.execute(
      db,
    )
    t.same(rows, [{ label }], `${language}, ${country}`)
  }
})
