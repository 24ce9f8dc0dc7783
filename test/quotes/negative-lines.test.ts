// Quotes with returns and deductions, and the name of their tax: in the document, on the page, in
// the PDF and in the statistics.
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import t from 'tap'
import { extractText, getDocumentProxy } from 'unpdf'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import type { LinkedQuote } from '../../src/quotes/schema.ts'
import { findQuotesWithWrongTotals } from '../../src/stats/summary/check-months.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { getVisibleText } from '../support/quotes/linked-quote.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { testService } from '../support/service/test-service.ts'

waitLongForRenderings(t)

const service = await testService(t, { index: false })
const { app, db, pool } = service

const header =
  'number,status,issued_on,currency,language,tax_label,sku,description,quantity,unit,unit_price,' +
  'discount_percent,tax_rate\n'
const file = `${header}
R-1,accepted,2026-03-01,EUR,es,IGIC,A-1,Bomba nueva,2,C62,100,,7
R-1,accepted,2026-03-01,EUR,es,IGIC,A-2,Bomba vieja,-1,C62,30,,7
R-1,accepted,2026-03-01,EUR,es,IGIC,,Descuento por volumen,1,,-12.345,,3
R-2,sent,2026-03-01,EUR,es,,A-1,Bomba nueva,1,C62,100,,21
`

async function share(number: string): Promise<string> {
  return `/quote/share/${await createQuoteLink(db, { number })}`
}

await importQuotes(pool, Readable.from([file]), { format: { numbers: '.' } })

t.test('the totals by rate contain negative lines', async (t) => {
  const { rows } = await sql`
    select net, tax, gross from quotes where number = 'R-1'`.execute(db)
  t.match(rows, [{ net: '157.65', tax: '11.53', gross: '169.18' }])
  t.same(await findQuotesWithWrongTotals(db), [])
  const answer = await app.inject({ url: `${await share('R-1')}?format=json` })
  const { document } = answer.json<LinkedQuote>()
  t.match(document.lines, [
    { quantity: '2', net: { amount: '200.00' } },
    { quantity: '-1', net: { amount: '-30.00' } },
    { quantity: '1', unitPrice: { amount: '-12.345' }, net: { amount: '-12.35' } },
  ])
  t.match(document.totals, {
    discounts: { amount: '0.00' },
    taxes: [
      { rate: '7', base: { amount: '170.00' }, amount: { amount: '11.90' } },
      { rate: '3', base: { amount: '-12.35' }, amount: { amount: '-0.37' } },
    ],
    taxLabel: { es: 'IGIC', en: 'IGIC', pt: 'IGIC', fr: 'IGIC', it: 'IGIC', de: 'IGIC' },
  })
})

t.test('the page and the PDF show negative amounts and the name of the tax', async (t) => {
  const url = await share('R-1')
  const page = getVisibleText((await app.inject({ url: `${url}?lang=es` })).body)
  for (const text of [
    '-1\u00a0ud.',
    '-30,00\u00a0€',
    '-12,345\u00a0€',
    'IGIC 7\u00a0%',
    '-0,37\u00a0€',
  ])
    t.ok(page.includes(text), `the page shows ${text}`)
  t.notMatch(page, /IVA/)
  const { rawPayload } = await app.inject({ url: `${url}?format=pdf&lang=en` })
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(rawPayload)), {
    mergePages: true,
  })
  const pdf = text.replace(/\s+/g, '')
  for (const part of ['IGIC7%', '-€30.00', '-€12.345', '-€0.37', '€169.18'])
    t.ok(pdf.includes(part), `the PDF shows ${part}: ${pdf}`)
})

t.test(
  'a tax without a name has the name of the language and the country of the seller',
  async (t) => {
    const url = await share('R-2')
    for (const [language, label] of Object.entries({ es: 'IVA 21', en: 'VAT 21' }))
      t.match(getVisibleText((await app.inject({ url: `${url}?lang=${language}` })).body), label)
    const labels = sql<{ label: string }>`
    select default_tax_label(language, country) as label
    from (values ('es', 'ES'), ('en', 'GB'), ('en', 'AU'), ('es', 'PE'), ('en', 'US'))
      as seller (language, country)`
    t.same(
      (await labels.execute(db)).rows.map(({ label }) => label),
      ['IVA', 'VAT', 'GST', 'IGV', 'Sales tax'],
    )
  },
)

// The last test, because it deletes the quote.
t.test('the statistics contain negative lines', async (t) => {
  await foldUntilCurrent(db)
  const { rows } = await sql`
    select sku, sum(own_net) as net, sum(lines) as lines from product_figures
    where grain = 'year' and date_kind = 'issued' group by sku order by sku`.execute(db)
  t.match(rows, [
    { sku: '', net: '-12.35' },
    { sku: 'A-1', net: '200.00' },
    { sku: 'A-2', net: '-30.00' },
  ])
  const total = await app.inject({ url: '/api/stats?from=2026-01-01&to=2026-12-31' })
  t.match(total.body, /157\.65/)
  await service.db.deleteFrom('quotes').where('number', '=', 'R-1').execute()
  await foldUntilCurrent(db)
  const { rows: after } = await sql<object>`
    select from product_figures`.execute(db)
  t.same(after, [])
})
