// Statistics by customer and by product: exact in every state of the summary, whatever changes
// quotes and lines.
import fc from 'fast-check'
import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import t from 'tap'
import type { Database } from '../../src/database/postgres-pool.ts'
import { readStats } from '../../src/stats/read-stats.ts'
import { findSummaryDifferences, rebuildSummary } from '../../src/stats/summary/check-months.ts'
import { foldStatistics } from '../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../src/stats/summary/summary-state.ts'
import { company } from '../support/database/company.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { insertCustomers, insertQuotes } from './insert-quotes.ts'
import { buildQuote, type Quote } from './quote-builder.ts'
import { arbitraryQuote, customerIds } from './random-histories/random-quotes.ts'
import { assertExpectedStats } from './reference-stats.ts'

// Each test has its own database.
t.jobs = 3

const breakdowns = ['customer', 'product'] as const
const line = (sku: string | null, net: string) => ({ sku, net })

/** Folds, and returns the statistics. */
async function statsOf(db: Database, by: 'customer' | 'product') {
  await foldStatistics(db)
  return (await readStats(db, company, { date: 'issued', by })).stats
}

async function breakdownOf(db: Database, by: 'customer' | 'product') {
  const stats = await statsOf(db, by)
  return stats.byCustomer ?? stats.byProduct
}

/** The SKU, number of lines and revenue of each product. */
async function productsOf(db: Database): Promise<string[]> {
  const stats = await statsOf(db, 'product')
  return (stats.byProduct?.rows ?? []).map(
    ({ product, lines, revenue }) => `${product?.sku} ${lines} ${revenue.amount}`,
  )
}

t.test('breakdowns are exact for any period, filter and date kind, folded or not', async (t) => {
  const { db } = await testDatabase(t)
  await insertCustomers(db, customerIds)
  const quotes = fc
    .sample(arbitraryQuote, { numRuns: 300, seed: 20_261_122 })
    .map((quote, index): Quote => ({ ...quote, number: String(index) }))
  await insertQuotes(db, quotes)
  const { today } = await readSummaryState(db)
  const periods = [
    null,
    ['2025-11-01', '2026-12-31'],
    ['2026-02-01', '2026-02-28'],
    ['2026-02-10', '2026-02-12'],
    ['2026-02-02', '2026-02-28'],
    ['2026-02-03', '2026-02-27'],
    ['2025-12-15', '2026-02-15'],
    ['2025-11-30', '2026-11-02'],
    ['2026-01-01', '2026-11-21'],
    ['2030-01-05', '2030-01-06'],
  ] as const
  const check = async () => {
    for (const by of breakdowns)
      for (const date of ['issued', 'accepted'] as const)
        for (const filter of [{}, { country: 'ES' }, { country: 'unknown', currency: 'JPY' }])
          for (const bounds of periods) {
            const range = bounds ? { from: bounds[0], to: bounds[1] } : {}
            const request = { date, by, ...filter, ...range }
            const { stats } = await readStats(db, company, request)
            const query = { country: undefined, ...request, today, bounds }
            assertExpectedStats(stats, quotes, query)
          }
  }
  await check()
  await rebuildSummary(db)
  await check()
  // Parts of months are computed from the quotes, without the changes that are not folded.
  await db.updateTable('quotes').set({ country: 'PT' }).where('number', 'like', '1%').execute()
  await db.updateTable('quote_lines').set({ net: '1' }).where('position', '=', 1).execute()
  await db.deleteFrom('quotes').where('number', 'like', '2%').execute()
  await check()
  t.same(await findSummaryDifferences(db), [])
})

t.test('a breakdown lists 50 customers or products and adds up the rest exactly', async (t) => {
  const { db } = await testDatabase(t)
  const ids = Array.from({ length: 120 }, (_, index) => String(index + 1))
  await insertCustomers(db, ids)
  const quotes = ids.flatMap((id, index): Quote[] => [
    buildQuote(`${id}-1`, {
      customer_id: id,
      net: `${(index * 37) % 40}.07`,
      lines: [line(`SKU-${id}`, `${(index * 31) % 40}.0049`), line('SKU-1', '0.3333')],
    }),
    buildQuote(`${id}-2`, { customer_id: id, status: 'draft', decided_on: null }),
    buildQuote(`${id}-3`, { customer_id: id, currency: 'USD', rate: null, lines: [] }),
  ])
  await insertQuotes(db, quotes)
  const { today } = await readSummaryState(db)
  for (const by of breakdowns) {
    const stats = await statsOf(db, by)
    const query = { date: 'issued', today, by, country: undefined, bounds: null } as const
    assertExpectedStats(stats, quotes, query)
  }
  t.match(await breakdownOf(db, 'customer'), {
    rows: { length: 50 },
    rest: { customers: 70, quotes: 210, accepted: 140, unconverted: 70 },
  })
  t.match(await breakdownOf(db, 'product'), { rows: { length: 50 }, rest: { products: 70 } })
})

t.test('quotes without a customer and lines without a SKU are one row each', async (t) => {
  const { db } = await testDatabase(t)
  t.same(await breakdownOf(db, 'customer'), { rows: [], rest: null })
  t.same(await breakdownOf(db, 'product'), { rows: [], rest: null })
  await insertQuotes(db, [
    buildQuote('1', { lines: [line(null, '10'), line('', '20.005'), line('A', '1')] }),
  ])
  await sql`insert into products (sku, name) values ('A', 'Hammer')`.execute(db)
  const revenue = (amount: string) => ({ amount, currency: 'EUR' })
  t.same(await breakdownOf(db, 'customer'), {
    rows: [{ customer: null, quotes: 1, accepted: 1, revenue: revenue('100.00'), unconverted: 0 }],
    rest: null,
  })
  t.same(await breakdownOf(db, 'product'), {
    rows: [
      { product: null, lines: 2, revenue: revenue('30.01'), unconverted: 0 },
      {
        product: { sku: 'A', name: 'Hammer' },
        lines: 1,
        revenue: revenue('1.00'),
        unconverted: 0,
      },
    ],
    rest: null,
  })
})

t.test('a breakdown contains every change of quotes and lines', async (t) => {
  const { db } = await testDatabase(t)
  await insertCustomers(db, ['1', '2'])
  await insertQuotes(db, [
    buildQuote('1', { customer_id: '1', lines: [line('A', '10'), line('B', '20')] }),
    buildQuote('2', { status: 'sent', decided_on: null, lines: [line('A', '5')] }),
  ])
  const expect = async (what: string, ...products: string[]) => {
    t.same(await productsOf(db), products, what)
    t.same(await findSummaryDifferences(db), [], what)
  }
  const setQuote = (number: string, values: Partial<Quote>) =>
    db.updateTable('quotes').set(values).where('number', '=', number).execute()
  await expect('only accepted quotes count', 'B 1 20.00', 'A 1 10.00')
  await setQuote('2', { status: 'accepted' })
  await expect('accepting a quote', 'B 1 20.00', 'A 2 15.00')
  await setQuote('1', { currency: 'USD', rate: '2' })
  await expect('another currency and rate', 'B 1 40.00', 'A 2 25.00')
  await setQuote('1', { rate: null })
  await expect('no rate', 'A 2 5.00', 'B 1 0.00')
  await setQuote('1', { currency: 'EUR', rate: '1', country: null, decided_on: '2026-05-05' })
  await expect('another country and day', 'B 1 20.00', 'A 2 15.00')
  await db.updateTable('quote_lines').set({ net: '7' }).where('sku', '=', 'A').execute()
  await expect('another net', 'B 1 20.00', 'A 2 14.00')
  await db.updateTable('quote_lines').set({ sku: 'C' }).where('sku', '=', 'B').execute()
  await expect('another SKU', 'C 1 20.00', 'A 2 14.00')
  await db.deleteFrom('quote_lines').where('sku', '=', 'C').execute()
  await expect('a deleted line', 'A 2 14.00')
  await sql`
    insert into quotes (number, version, status, currency, rate, issued_on, net, gross)
    values ('1', 2, 'sent', 'EUR', 1, '2026-05-06', 1, 1)
  `.execute(db)
  await expect('a superseded version', 'A 1 7.00')
  await db.deleteFrom('quotes').where('number', '=', '2').execute()
  await expect('a deleted quote')
  await insertQuotes(db, [buildQuote('3', { customer_id: '2', lines: [line('A', '1')] })])
  await db.deleteFrom('customers').where('id', '=', '2').execute()
  t.match(await breakdownOf(db, 'customer'), {
    rows: [{ customer: null, quotes: 2, accepted: 1 }],
  })
  await expect('a deleted customer', 'A 1 1.00')
  await sql`truncate quote_lines`.execute(db)
  await expect('truncated lines')
  await sql`truncate quotes cascade`.execute(db)
  t.same(await breakdownOf(db, 'customer'), { rows: [], rest: null })
  for (const table of ['customer_figures', 'product_figures'] as const)
    t.same(await db.selectFrom(table).selectAll().execute(), [], `${table} has no empty rows`)
})

t.test('an update that changes only products is another version', async (t) => {
  const { db } = await testDatabase(t)
  const quotes = Array.from({ length: 300 }, (_, n) => {
    const [country, sku] = n % 2 === 0 ? (['ES', 'A'] as const) : (['FR', 'B'] as const)
    return buildQuote(String(n), { country, lines: [line(sku, '1')] })
  })
  await insertQuotes(db, quotes)
  const { version: before } = await readSummaryState(db)
  await sql`
    update quotes set country = case country when 'ES' then 'FR' else 'ES' end
  `.execute(db)
  await foldStatistics(db)
  const request = { date: 'issued', by: 'product', country: 'ES' } as const
  const { stats, state } = await readStats(db, company, request)
  t.match(stats.byProduct, { rows: [{ product: { sku: 'B' }, lines: 150 }] })
  t.equal(state.version.number, before.number + 1, 'so that cached statistics end')
  t.same(await findSummaryDifferences(db), [])
})

t.test('lines that are written while their quote is accepted count once', async (t) => {
  const { db, pool } = await testDatabase(t)
  const [writer, seller] = [await pool.connect(), await pool.connect()]
  const writeLine = (client: PoolClient, number: string) =>
    client.query(
      `insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, net)
      select id, 1, 'A', 'Anything', 1, 10, 10 from quotes where number = $1`,
      [number],
    )
  const accept = (client: PoolClient, number: string) =>
    client.query("update quotes set status = 'accepted' where number = $1", [number])
  const orders = [
    ['1', writeLine, accept],
    ['2', accept, writeLine],
  ] as const
  try {
    for (const [number, first, second] of orders) {
      await insertQuotes(db, [buildQuote(number, { status: 'sent', decided_on: null })])
      await writer.query('begin')
      await seller.query('begin')
      await first(writer, number)
      let isDone = false
      const waiting = second(seller, number).then(() => {
        isDone = true
      })
      await eventually(async () => isDone || (await isAnySessionWaiting(db)), Boolean)
      t.notOk(isDone, 'the second one waits')
      await writer.query('commit')
      await waiting
      await seller.query('commit')
      t.same(await productsOf(db), [`A ${number} ${number}0.00`])
      t.same(await findSummaryDifferences(db), [])
    }
  } finally {
    for (const client of [writer, seller]) client.release()
  }
})

t.test('two writers of lines that then update the totals of a quote do not deadlock', async (t) => {
  const { db, pool } = await testDatabase(t)
  await insertQuotes(db, [buildQuote('1', {})])
  const write = async (position: number) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query(
        `insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, net)
        select id, $1, 'A', 'Anything', 1, 10, 10 from quotes`,
        [position],
      )
      await client.query('select pg_sleep(0.05)')
      await client.query('update quotes set net = net + 10, gross = gross + 10')
      await client.query('commit')
    } finally {
      client.release()
    }
  }
  await Promise.all([write(1), write(2), write(3)])
  t.same(await productsOf(db), ['A 3 30.00'])
})

t.test('verification finds what differs, and a rebuild corrects it', async (t) => {
  const { db } = await testDatabase(t)
  await insertCustomers(db, ['1'])
  await insertQuotes(db, [buildQuote('1', { customer_id: '1', lines: [line('A', '10')] })])
  t.same(await findSummaryDifferences(db), [])
  await sql`alter table quote_lines disable trigger user`.execute(db)
  await db.updateTable('quote_lines').set({ sku: null }).execute()
  await sql`
    update customer_figures set quotes = quotes + 1 where grain = 'year' and date_kind = 'issued'
  `.execute(db)
  await sql`
    update product_figures set own_net = own_net + 1 where grain = 'year_total' and date_kind = 'issued'
  `.execute(db)
  t.same((await findSummaryDifferences(db)).toSorted(), [
    'customer_figures: year issued 2026-01-01 ES EUR',
    'product_figures: month accepted 2026-04-01 ES EUR',
    'product_figures: month issued 2026-03-01 ES EUR',
    'product_figures: month_total accepted 2026-04-01 unknown EUR',
    'product_figures: month_total issued 2026-03-01 unknown EUR',
    'product_figures: year_total issued 2026-01-01 unknown EUR',
  ])
  await rebuildSummary(db)
  t.same(await findSummaryDifferences(db), [])
})
