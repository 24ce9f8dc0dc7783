// Discounts on a whole quote, optional lines, headings, texts and withheld tax: an implementation
// with whole numbers computes what the import, the document and the statistics must contain.
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import type { QuoteDocument } from '../../src/quotes/schema.ts'
import {
  findQuotesWithWrongTotals,
  findSummaryDifferences,
} from '../../src/stats/summary/check-months.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { csvFile } from '../imports/import-files.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { createAndReadLink } from '../support/quotes/frozen-documents.ts'
import { document, linkedQuote, withDocument } from '../support/quotes/linked-quote.ts'
import { renderPage } from '../support/quotes/render-page.ts'

const database = await testDatabase(t)
const { db, pool } = database

type Line = { kind: string; quantity: bigint; cents: bigint; rate: string; sku: string }
type Case = { lines: Line[]; percent: bigint | null; amount: bigint | null; withheld: bigint }

/** Rounds half away from zero. */
function divide(dividend: bigint, divisor: bigint): bigint {
  const [n, d] = [dividend < 0n ? -dividend : dividend, divisor < 0n ? -divisor : divisor]
  const quotient = (2n * n + d) / (2n * d)
  return dividend < 0n === divisor < 0n ? quotient : -quotient
}

/** The highest rate first, then 0 %, then the lines without a rate. */
const rates = ['21', '10', '0', ''] as const

/** The amounts in cents. The percentages are whole. */
function compute({ lines, percent, amount, withheld }: Case) {
  const sumOf = (rate: string) =>
    lines
      .filter((line) => line.kind === 'line' && line.rate === rate)
      .reduce((sum, { quantity, cents }) => sum + quantity * cents, 0n)
  const total = rates.reduce((sum, rate) => sum + sumOf(rate), 0n)
  // The untaxed lines come last in the database too: null sorts after every number.
  let before = 0n
  const share = (some: bigint) => {
    if (percent) return divide(some * percent, 100n)
    return amount && total !== 0n ? divide(some * amount, total) : 0n
  }
  const bases = rates.map((rate) => {
    const sum = sumOf(rate)
    const base = sum - share(before + sum) + share(before)
    before += sum
    return { rate, base, tax: divide(base * BigInt(rate || 0), 100n) }
  })
  const net = total - (percent ? divide(total * percent, 100n) : (amount ?? 0n))
  const gross = bases.reduce((sum, { tax }) => sum + tax, net)
  return { total, net, bases, gross, withheld: divide(net * withheld, 100n) }
}

const euros = (cents: bigint) => {
  const text = (cents < 0n ? -cents : cents).toString().padStart(3, '0')
  return `${cents < 0n ? '-' : ''}${text.slice(0, -2)}.${text.slice(-2)}`
}
const money = (cents: bigint) => ({ amount: euros(cents), currency: 'EUR' })

const header =
  'number,status,issued_on,currency,kind,sku,description,quantity,unit_price,tax_rate,' +
  'global_discount_percent,global_discount_amount,withholding_percent\n'
const toRows = (number: string, { lines, percent, amount, withheld }: Case) =>
  lines
    .map(({ kind, sku, quantity, cents, rate }) => {
      const isPriced = kind === 'line' || kind === 'optional'
      const values = isPriced ? [sku, 'x', quantity, euros(cents), rate] : ['', 'x', '', '', '']
      const discount = [percent ?? '', amount === null ? '' : euros(amount), withheld]
      return [number, 'accepted', '2026-03-01', 'EUR', kind, ...values, ...discount].join(',')
    })
    .join('\n')

const line = fc.record({
  kind: fc.constantFrom('line', 'line', 'line', 'optional', 'heading', 'text'),
  quantity: fc.constantFrom(1n, 1n, 2n, 7n, -1n),
  cents: fc.bigInt({ min: 1n, max: 99_999n }),
  rate: fc.constantFrom(...rates),
  sku: fc.constantFrom('A', 'B', ''),
})
const quoteCase = fc
  .record({
    lines: fc.array(line, { minLength: 1, maxLength: 8 }),
    discount: fc.constantFrom('none', 'percent', 'amount'),
    value: fc.bigInt({ min: 1n, max: 100n }),
    withheld: fc.constantFrom(0n, 15n, 19n),
  })
  .map(({ lines, discount, value, withheld }) => ({
    lines,
    percent: discount === 'percent' ? value : null,
    amount: discount === 'amount' ? value * 7n : null,
    withheld,
  }))
  .filter((one) => compute(one).total >= 0n && compute(one).net >= 0n)

t.test('import, document and statistics have the amounts of the reference', async (t) => {
  const cases = fc.sample(quoteCase, { numRuns: 120, seed: 78 })
  const file = header + cases.map((one, index) => toRows(`Q-${index}`, one)).join('\n')
  await importQuotes(pool, csvFile(file), { format: { numbers: '.' } })
  t.same(await findQuotesWithWrongTotals(db), [], 'quote_totals() agrees with the import')
  let revenue = 0n
  for (const [index, one] of cases.entries()) {
    const expected = compute(one)
    revenue += expected.net
    const { document } = await createAndReadLink(db, { number: `Q-${index}` })
    const { lines, totals } = JSON.parse(document) as QuoteDocument
    const { total, net, bases, gross, withheld } = expected
    const name = `${index}: ${toRows('', one)}`
    t.match(totals, { net: money(net), gross: money(gross) }, name)
    const isUsed = (rate: string) => one.lines.some((l) => l.kind === 'line' && l.rate === rate)
    t.same(
      totals.taxes.map(({ rate, base, amount }) => [rate, base.amount, amount.amount]),
      bases
        .filter(({ rate }) => rate !== '' && isUsed(rate))
        .map(({ rate, base, tax }) => [rate, euros(base), euros(tax)]),
      name,
    )
    const all = [...totals.taxes.map(({ base }) => base), totals.untaxedBase]
    const sum = all.reduce((sum, base) => sum + BigInt((base?.amount ?? '0').replace('.', '')), 0n)
    t.equal(sum, net, 'the bases add up to the net')
    t.same(
      totals.discount,
      total === net
        ? null
        : {
            percent: one.percent?.toString() ?? null,
            base: money(total),
            amount: money(total - net),
          },
      name,
    )
    t.same(
      totals.withheld,
      one.withheld === 0n
        ? null
        : {
            rate: String(one.withheld),
            amount: money(withheld),
            amountDue: money(gross - withheld),
          },
    )
    const countedAfter = (position: number) => {
      const next = lines.find((l) => l.kind === 'heading' && l.position > position)
      return one.lines
        .slice(position, (next?.position ?? 99) - 1)
        .filter(({ kind }) => kind === 'line')
        .reduce((sum, { quantity, cents }) => sum + quantity * cents, 0n)
    }
    for (const { kind, position, subtotal } of lines)
      t.same(subtotal, kind === 'heading' ? money(countedAfter(position)) : null)
  }
  const readFigures = async () => {
    await foldUntilCurrent(db)
    t.same(await findSummaryDifferences(db), [])
    const { rows } = await sql<Record<string, string>>`
      select (select sum(own_net) from quote_figures where grain = 'year' and date_kind = 'issued')
          as revenue,
        round(sum(own_net), 6) as products, sum(lines) as lines
      from product_figures where grain = 'year' and date_kind = 'issued'`.execute(db)
    return rows[0]
  }
  const counted = cases.flatMap(({ lines }) => lines.filter(({ kind }) => kind === 'line')).length
  const expected = { revenue: euros(revenue), lines: String(counted) }
  const figures = await readFigures()
  t.match(figures, expected, 'the statistics are after the discounts')
  // A percentage of a line is not rounded, but the discount of its quote is.
  const difference = Math.abs(Number(figures?.products) - Number(figures?.revenue))
  t.ok(difference < 0.005 * cases.length, `the products add up to the revenue: ${difference}`)

  // Changed discounts and kinds change the ledger, also one by one.
  await sql`update quotes set global_discount_percent = 50, global_discount_amount = null`.execute(
    db,
  )
  await sql`update quote_lines set kind = 'optional' where kind = 'line' and sku = 'A'`.execute(db)
  await sql`update quote_lines set net = 0 where kind = 'line' and sku = 'B'`.execute(db)
  await sql`delete from quote_lines where position = 2`.execute(db)
  await sql`
    update quotes set (net, tax, gross) = (select net, tax, gross from quote_totals(quotes.id))
    where (select net from quote_totals(quotes.id)) >= 0`.execute(db)
  await sql`
    update quotes set global_discount_amount = least(net, 1), global_discount_percent = null`.execute(
    db,
  )
  await readFigures()
  await sql`delete from quotes`.execute(db)
  await readFigures()
  t.same((await sql<object>`select from product_figures`.execute(db)).rows, [])
})

t.test(
  'a file with kinds and discounts is checked, and nothing is lost without a word',
  async (t) => {
    const columns = 'number,status,issued_on,valid_until,currency,kind,sku,description'
    const numbers = 'quantity,unit_price,global_discount_percent,global_discount_amount'
    const row = 'N-1,sent,2026-03-01,2026-04-01,EUR'
    const importRows = (...rows: string[]) =>
      importQuotes(pool, csvFile(`${columns},${numbers}\n${rows.join('\n')}\n`), {
        format: { numbers: '.' },
      })
    const refused: [row: string, message: RegExp][] = [
      [`${row},line,,Tubo,,1,,`, /quantity: is missing/],
      [`${row},,,Tubo,0,1,,`, /quantity: "0" must be other than 0/],
      [`${row},heading,,Tubo,2,,,`, /quantity: "2" is given, but the kind of the line is heading/],
      [`${row},nota,A,Tubo,,,,`, /sku: "A" is given, but the kind of the line is text/],
      [`${row},extra,,Tubo,1,1,,`, /kind: "extra" is not one of line, optional, heading, text/],
      [`${row},line,,Tubo,1,9,5,1`, /global_discount_amount: is given beside/],
      [
        `${row},line,,Tubo,1,9,,1.005`,
        /global_discount_amount: "1.005" has more decimals than EUR/,
      ],
      [`${row},optional,,Tubo,1,9,,5`, /quote N-1, less its global discount, add up to -5/],
    ]
    for (const [line, message] of refused) await t.rejects(importRows(line), { message }, line)
    await importRows(
      `${row},Capítulo,,Obra,,,,7`,
      `${row},line_note,,Texto,0,0,,7`,
      `${row},opcional,,Grúa,1,50,,7`,
      `${row},,,Tubo,2,10,,7`,
    )
    const read = async () =>
      (
        await sql<object>`
        select quotes.net, global_discount_amount as discount,
          array_agg(kind order by position) as kinds
        from quotes join quote_lines on quote_id = id group by quotes.id`.execute(db)
      ).rows
    const kinds = ['heading', 'text', 'optional', 'line']
    t.same(await read(), [{ net: '13.00', discount: '7', kinds }])
    const fewer = `number,status,issued_on,currency,description,quantity,unit_price\n`
    const again = `N-1,sent,2026-03-01,EUR,Tubo,2,11\n`
    await t.rejects(importQuotes(pool, csvFile(fewer + again)), { message: /no column kind/ })
    await importQuotes(
      pool,
      csvFile(fewer.replace('currency', 'currency,kind') + again.replace('EUR', 'EUR,line')),
    )
    t.same(await read(), [{ net: '15.00', discount: '7', kinds: ['line'] }], 'the discount stays')
  },
)

t.test('a document that was frozen before these fields has the same page', async (t) => {
  const lines = document.lines.filter(({ kind }) => kind === 'line')
  const { discount: _, withheld: __, ...oldTotals } = document.totals
  const old = lines.map(({ kind: _, ...line }) => line)
  t.equal(
    renderPage(withDocument({ lines: old, totals: oldTotals }), 'es', null),
    renderPage(
      withDocument({ lines, totals: { ...oldTotals, discount: null, withheld: null } }),
      'es',
      null,
    ),
  )
  const onlyOptional = document.lines.filter(({ kind }) => kind === 'optional')
  t.notMatch(
    renderPage({ ...linkedQuote, ...withDocument({ lines: onlyOptional }) }, 'es', null),
    'Aceptar',
    'nobody can accept options without a line',
  )
})
