// Statistics by customer and by product: who may ask for them, their figures, rows and names, and
// writers of lines at the same time.
import fc from 'fast-check'
import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import type { Scope } from '../../src/database/table-types.ts'
import type { Stats } from '../../src/stats/schema.ts'
import { formatCsv } from '../../src/stats/stats-csv.ts'
import { findSummaryDifferences } from '../../src/stats/summary/check-months.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../src/stats/summary/summary-state.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { isAnySessionWaiting, untilWaitingOrEnded } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { insertCustomers, insertQuotes } from './insert-quotes.ts'
import { buildQuote, type Quote } from './quote-builder.ts'
import { arbitraryQuote, customerIds } from './random-histories/random-quotes.ts'
import { assertExpectedStats } from './reference-stats.ts'
import { foldedStats, secondInstance, statsOf, statsService } from './stats-service.ts'

const line = (sku: string | null, net: string) => ({ sku, net })
/** Adds a line of 10 EUR to the quote with this number. */
const insertLine = `
  insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, net)
  select id, (random() * 1e9)::integer, 'A', 'Anything', 1, 10, 10 from quotes where number = $1`

const log: string[] = []
const service = await statsService(t, { log: (line) => log.push(line) })
await insertCustomers(service.db, ['1'])
await insertQuotes(service.db, [
  buildQuote('1', { customer_id: '1', lines: [line('-7', '12.5')] }),
  buildQuote('2', { status: 'sent', decided_on: null }),
])
await service.db.insertInto('products').values({ sku: '-7', name: 'Tornillo' }).execute()
const key = await createSecretKey(service.db, { scopes: ['stats:read', 'stats:detail'] })
const get = (query: string) =>
  service.app.inject({ url: `/api/stats${query}`, headers: bearer(key) })

t.test('breakdowns are exact for any period, filter and kind of date', async (t) => {
  const { db } = await testDatabase(t)
  await insertCustomers(db, customerIds)
  const quotes = fc
    .sample(arbitraryQuote, { numRuns: 300, seed: 20_261_122 })
    .map((quote, index): Quote => ({ ...quote, number: String(index) }))
  await insertQuotes(db, quotes)
  // Parts of months are computed from the quotes, without these changes, which are not folded.
  await db.updateTable('quotes').set({ country: 'PT' }).where('number', 'like', '1%').execute()
  await db.updateTable('quote_lines').set({ net: '1' }).where('position', '=', 1).execute()
  await db.deleteFrom('quotes').where('number', 'like', '2%').execute()
  const { today } = await readSummaryState(db)
  for (const bounds of [
    null,
    ['2025-11-01', '2026-12-31'],
    ['2026-02-01', '2026-02-28'],
    ['2026-02-10', '2026-02-12'],
    ['2026-02-02', '2026-02-28'],
    ['2026-02-03', '2026-02-27'],
    ['2025-12-15', '2026-02-15'],
    ['2025-11-30', '2026-11-02'],
    ['2026-01-01', '2026-11-21'],
    ['2023-01-17', '2027-12-30'],
    ['2030-01-05', '2030-01-06'],
  ] as const)
    for (const by of ['customer', 'product'] as const)
      for (const date of ['issued', 'accepted'] as const)
        for (const filter of [{}, { country: 'ES' }, { country: 'unknown', currency: 'JPY' }]) {
          const query = { date, by, bounds, country: undefined, ...filter }
          assertExpectedStats(await statsOf(db, query), quotes, { ...query, today })
        }
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
  for (const [by, row] of [
    ['customer', /^otherCustomers,70,210,140,\d+\.\d\d,EUR,+70$/m],
    ['product', /^otherProducts,70,,,\d+\.\d\d,EUR,+70,0$/m],
  ] as const) {
    const query = { date: 'issued', by, country: undefined, bounds: null } as const
    const stats = await statsOf(db, query)
    assertExpectedStats(stats, quotes, { ...query, today })
    t.match(formatCsv({ asOf: '', ...stats }, 'csv').replaceAll('\r', ''), row)
  }
})

t.test('CSV has rows for customers and products, and three more columns', async (t) => {
  const csv = async (by: string) => {
    const { body } = await get(`?format=csv${by}`)
    return body.split('\r\n').filter((row) => !row.startsWith('asOf'))
  }
  const plain = await csv('')
  for (const [by, rows] of [
    [
      'customer',
      [
        'customer,1,1,1,100.00,EUR,,,,,,,,,,,,,,,Customer 1,,0',
        'customer,,1,0,0.00,EUR,,,,,,,,,,,,,,,,,0',
      ],
    ],
    // A SKU stays text even if a spreadsheet would read a formula.
    ['product', [`product,"'-7",,,12.50,EUR,,,,,,,,,,,,,,,Tornillo,1,0`]],
  ] as const) {
    const found = Object.groupBy(await csv(`&by=${by}`), (row) =>
      row.startsWith(`${by},`) ? 'rows' : 'others',
    )
    t.same(found.rows, rows)
    t.same(
      found.others?.map((row) => row.replace(/,,,$/, '')),
      [`${plain[0]},name,lines,unconverted`, ...plain.slice(1)],
    )
  }
})

t.test('only keys with stats:read and stats:detail list customers and products', async (t) => {
  const other = await secondInstance(t, service)
  const withScopes = async (...scopes: Scope[]) =>
    bearer(await createSecretKey(service.db, { scopes }))
  const reader = await withScopes('stats:read', 'search:read')
  const lacks = 'the key lacks; it has stats:read, search:read.'
  for (const query of ['?by=customer', '?by=product', '?by=customer&format=csv']) {
    const { statusCode, headers } = await get(query)
    t.equal(statusCode, 200)
    const etag = String(headers.etag)
    const by = /by=\w+/.exec(query)?.[0]
    // Now the statistics are cached, in the process and in Redis.
    for (const [headers, status, detail] of [
      [reader, 403, `${by} needs the scope stats:detail, which ${lacks}`],
      [{ ...reader, 'if-none-match': etag }, 403, /stats:detail/],
      [{}, 401, /needs a key with the scope stats:detail/],
      [await withScopes('stats:detail'), 403, /lacks the scope stats:read/],
    ] as const)
      for (const { app } of [service, other]) {
        const refused = await app.inject({ url: `/api/stats${query}`, headers })
        t.match(refused.json(), { status, detail }, query)
        if (status === 401) t.match(refused.headers, { 'www-authenticate': /^Bearer/ })
      }
  }
  t.notMatch((await get('')).body, 'Customer 1', 'nothing is listed unless it is asked for')
  t.notMatch(log.join(''), /Customer 1|Tornillo/, 'logs contain no names')
  await t.rejects(
    createApiKey(service.db, {
      kind: 'publishable',
      name: 'x',
      origins: ['https://shop.example'],
      scopes: ['search:read', 'stats:detail'],
    }),
    /api_keys_publishable_is_narrow/,
  )
})

t.test('a new name replaces the old one in cached statistics', async (t) => {
  const { db } = service
  const products = db.updateTable('products')
  const readName = async (by: string) => {
    const { byCustomer, byProduct } = (await get(`?by=${by}`)).json<Stats>()
    return byCustomer ? byCustomer.rows[0]?.customer?.name : byProduct?.rows[0]?.product?.name
  }
  for (const [by, name, change] of [
    ['customer', 'Customer 1', sql`select`],
    ['customer', 'Ruiz', db.updateTable('customers').set({ name: 'Ruiz' })],
    ['customer', undefined, db.deleteFrom('customers')],
    ['product', 'Tornillo', sql`select`],
    ['product', 'Tuerca', products.set({ name: 'Tuerca' })],
    ['product', null, products.set({ sku: 'other' })],
    ['product', 'Tuerca', products.set({ sku: '-7' })],
    ['product', null, db.deleteFrom('products')],
    ['product', 'Perno', db.insertInto('products').values({ sku: '-7', name: 'Perno' })],
    ['product', null, sql`truncate products cascade`],
  ] as const) {
    await change.execute(db)
    const found = await eventually(
      () => readName(by),
      (found) => found === name,
    )
    t.equal(found, name)
  }
  await insertCustomers(db, ['2'])
  await foldUntilCurrent(db)
  await db.updateTable('customers').set({ contact_name: 'Ana' }).execute()
  await db.updateTable('quotes').set({ notes: 'not part of any statistic' }).execute()
  t.equal((await readSummaryState(db)).isFoldDue, false, 'other changes refresh no statistics')
})

t.test('lines that are written while their quote is accepted count once', async (t) => {
  const { db, pool } = await testDatabase(t)
  const clients = [await pool.connect(), await pool.connect()] as const
  const [writer, seller] = clients
  const accept = "update quotes set status = 'accepted' where number = $1"
  for (const [number, first, second] of [
    ['1', insertLine, accept],
    ['2', accept, insertLine],
  ] as const) {
    await insertQuotes(db, [buildQuote(number, { status: 'sent', decided_on: null })])
    for (const client of clients) await client.query('begin')
    await writer.query(first, [number])
    const waiting = seller.query(second, [number])
    await untilWaitingOrEnded(db, waiting)
    t.ok(await isAnySessionWaiting(db), 'the second one waits')
    await writer.query('commit')
    await waiting
    await seller.query('commit')
    t.match((await foldedStats(db, { by: 'product' })).byProduct?.rows, [
      { product: { sku: 'A' }, lines: Number(number), revenue: { amount: `${number}0.00` } },
    ])
    t.same(await findSummaryDifferences(db), [])
  }
  for (const client of clients) client.release()
})

t.test('writers of lines that then update the totals of a quote do not deadlock', async (t) => {
  const { db, pool } = await testDatabase(t)
  await insertQuotes(db, [buildQuote('1', {})])
  const write = async (client: PoolClient) => {
    await client.query('begin')
    await client.query(insertLine, ['1'])
    await client.query('select pg_sleep(0.05)')
    await client.query('update quotes set net = net + 10, gross = gross + 10')
    await client.query('commit')
    client.release()
  }
  await Promise.all([1, 2, 3].map(async () => write(await pool.connect())))
  t.match((await foldedStats(db, { by: 'product' })).byProduct?.rows, [{ lines: 3 }])
})
