// Who may ask /api/stats for customers and products, and how these are cached and written.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import type { Scope } from '../../src/database/table-types.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../src/stats/summary/summary-state.ts'
import { eventually } from '../support/eventually.ts'
import type { TestService } from '../support/service/test-service.ts'
import { insertCustomers, insertQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import { secondInstance, statsService } from './stats-service.ts'

const quotes = [
  buildQuote('1', { customer_id: '1', lines: [{ sku: '-7', net: '12.5' }] }),
  buildQuote('2', { status: 'sent', decided_on: null }),
]

async function startService(t: Test, lines: string[] = []) {
  const service = await statsService(t, { log: (line) => lines.push(line) })
  await insertCustomers(service.db, ['1'])
  await insertQuotes(service.db, quotes)
  await sql`insert into products (sku, name) values ('-7', 'Tornillo')`.execute(service.db)
  const createKey = (...scopes: Scope[]) =>
    createApiKey(service.db, { kind: 'secret', name: 'Test', scopes })
  return { service, createKey }
}

const get = ({ app }: Pick<TestService, 'app'>, query: string, key?: string) =>
  app.inject({
    url: `/api/stats${query}`,
    headers: key ? { authorization: `Bearer ${key}` } : {},
  })

t.test('only keys with stats:read and stats:detail list customers and products', async (t) => {
  const lines: string[] = []
  const { service, createKey } = await startService(t, lines)
  const detail = await createKey('stats:read', 'stats:detail')
  for (const query of ['?by=customer', '?by=product', '?by=customer&format=csv']) {
    const response = await get(service, query, detail)
    t.equal(response.statusCode, 200)
    // Now the statistics are cached, in the process and in Redis.
    for (const instance of [service, await secondInstance(t, service)]) {
      const refused = await get(instance, query, await createKey('stats:read', 'search:read'))
      t.match(refused.json(), {
        status: 403,
        code: 'insufficient_scope',
        detail:
          `by=${query.includes('product') ? 'product' : 'customer'} needs the scope ` +
          'stats:detail, which the key lacks; it has stats:read, search:read.',
      })
      const anonymous = await get(instance, query)
      t.match(anonymous.json(), {
        status: 401,
        code: 'unauthenticated',
        detail: /needs a key with the scope stats:detail/,
      })
      t.match(anonymous.headers, { 'www-authenticate': /^Bearer/ })
      t.match((await get(instance, query, await createKey('stats:detail'))).json(), {
        status: 403,
        detail: /lacks the scope stats:read/,
      })
    }
    const conditional = await service.app.inject({
      url: `/api/stats${query}`,
      headers: {
        authorization: `Bearer ${await createKey('stats:read')}`,
        'if-none-match': String(response.headers.etag),
      },
    })
    t.equal(conditional.statusCode, 403, 'also with the ETag of a response')
  }
  t.match((await get(service, '?by=country', detail)).json(), {
    status: 400,
    errors: [{ parameter: 'by' }],
  })
  const plain = await get(service, '', detail)
  t.notMatch(plain.json(), { byCustomer: {} }, 'nothing is listed unless it is asked for')
  t.notMatch(plain.body, 'Customer 1')
  t.notMatch(lines.join(''), /Customer 1|Tornillo/, 'logs contain no names')
})

t.test('a publishable key cannot have the scope stats:detail', async (t) => {
  const { service } = await startService(t)
  await t.rejects(
    createApiKey(service.db, {
      kind: 'publishable',
      name: 'x',
      scopes: ['search:read', 'stats:detail'],
      origins: ['https://shop.example'],
    }),
    /api_keys_publishable_is_narrow/,
  )
})

t.test('a new name replaces the old one in cached statistics', async (t) => {
  const { service, createKey } = await startService(t)
  const { db } = service
  const key = await createKey('stats:read', 'stats:detail')
  const readName = async (query: string) => {
    const { byCustomer, byProduct } = (await get(service, query, key)).json()
    return byCustomer ? byCustomer.rows[0].customer.name : byProduct.rows[0].product.name
  }
  const setCustomer = (name: string) => db.updateTable('customers').set({ name }).execute()
  const setProduct = (values: { name?: string; sku?: string }) =>
    db.updateTable('products').set(values).execute()
  const change = async (
    query: string,
    changes: [write: () => Promise<unknown>, newName: string | null][],
  ) => {
    for (const [write, newName] of changes) {
      await write()
      const found = await eventually(
        () => readName(query),
        (name) => name === newName,
      )
      t.equal(found, newName)
    }
  }
  await change('?by=customer', [
    [async () => undefined, 'Customer 1'],
    [() => setCustomer('Herrajes Ruiz'), 'Herrajes Ruiz'],
  ])
  await change('?by=product', [
    [async () => undefined, 'Tornillo'],
    [() => setProduct({ name: 'Tuerca' }), 'Tuerca'],
    [() => setProduct({ sku: 'other' }), null],
    [() => setProduct({ sku: '-7' }), 'Tuerca'],
    [() => db.deleteFrom('products').execute(), null],
    [() => db.insertInto('products').values({ sku: '-7', name: 'Perno' }).execute(), 'Perno'],
    [() => sql`truncate products cascade`.execute(db), null],
  ])
  await foldUntilCurrent(db)
  await db.updateTable('customers').set({ contact_name: 'Ana' }).execute()
  await setCustomer('Herrajes Ruiz')
  t.equal((await readSummaryState(db)).isFoldDue, false, 'other changes refresh no statistics')
})

t.test('CSV has rows for customers and products, and three more columns', async (t) => {
  const { service, createKey } = await startService(t)
  const key = await createKey('stats:read', 'stats:detail')
  const csv = async (query: string) =>
    (await get(service, `?format=csv${query}`, key)).body
      .split('\r\n')
      .filter((row) => !row.startsWith('asOf'))
  const plain = await csv('')
  const customers = await csv('&by=customer')
  t.same(
    customers.filter((row) => !row.startsWith('customer,')).map((row) => row.replace(/,,,$/, '')),
    [`${plain[0]},name,lines,unconverted`, ...plain.slice(1)],
    'the other rows are the same',
  )
  t.same(
    customers.filter((row) => row.startsWith('customer,')),
    [
      'customer,1,1,1,100.00,EUR,,,,,,,,,,,,,,,Customer 1,,0',
      'customer,,1,0,0.00,EUR,,,,,,,,,,,,,,,,,0',
    ],
  )
  t.same(
    (await csv('&by=product')).filter((row) => row.startsWith('product,')),
    [`product,"'-7",,,12.50,EUR,,,,,,,,,,,,,,,Tornillo,1,0`],
    'a SKU stays text even if a spreadsheet would read a formula',
  )
  await insertCustomers(
    service.db,
    Array.from({ length: 60 }, (_, index) => String(index + 10)),
  )
  await insertQuotes(
    service.db,
    Array.from({ length: 60 }, (_, index) =>
      buildQuote(`M${index}`, { customer_id: String(index + 10) }),
    ),
  )
  const rest = await eventually(
    async () => (await csv('&by=customer')).filter((row) => row.startsWith('otherCustomers')),
    ({ length }) => length > 0,
  )
  t.same(rest, ['otherCustomers,12,12,11,1100.00,EUR,,,,,,,,,,,,,,,,,0'])
})
