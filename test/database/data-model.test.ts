// docs/data-model.md agrees with the schema, its examples run, and the constraints reject bad
// values.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { sql } from 'kysely'
import type { ClientBase, QueryResult } from 'pg'
import t from 'tap'
import { getCurrencyDigits } from '../../src/company/currencies.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { registerIndex } from '../../src/indexing/registration.ts'
import { queryDocument, readLink } from '../../src/quotes/links/read-link.ts'
import { testDatabase } from '../support/database/test-database.ts'

const page = readFileSync(new URL('../../docs/data-model.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', text = '']) => ({ language, text }),
)

/** Shared by the tests that only read the schema. */
const database = await testDatabase(t)

t.test(
  'the examples of the page have the shown results, with the rights that the page grants',
  async (t) => {
    const { db, pool } = await testDatabase(t)
    await registerIndex(db, 'main')
    const role = `quote_writer_${randomBytes(6).toString('hex')}`
    const client = await pool.connect()
    let token = ''
    try {
      for (const [index, { language, text }] of blocks.entries()) {
        if (language !== 'sql') continue
        const result = lastResult(await client.query(text.replaceAll('quote_writer', role)))
        if (text.includes('create role')) await client.query(`set role ${role}`)
        if (text.includes('as token')) token = String(result.rows[0]?.token)
        const following = blocks[index + 1]
        if (following?.language === 'text') t.equal(formatResult(result), following.text)
      }
    } finally {
      await client.query(`rollback; reset role; drop owned by ${role}; drop role ${role}`)
      client.release()
    }

    const now = new Date()
    const link = await readLink(db, token, { timeZone: 'Europe/Madrid', now })
    if (link.state !== 'open') throw new Error(`The link is ${link.state}.`)
    t.equal(link.quoteStatus, 'accepted')
    const document = (await queryDocument(db, token)) ?? ''
    t.match(document, /"number":"P-2026-0117".*"version":2/)
    t.notMatch(document, /Margen/, 'without the internal notes')
    const pending = await db.selectFrom('index_outbox').selectAll().execute()
    t.equal(pending.length, 2, 'the new products are queued for the index')
  },
)

t.test('what the page names exists', async (t) => {
  const { db } = database
  const columns = await readColumns(db)
  const type = (name: string) => name.replace('timestamp with time zone', 'timestamptz')

  await t.test('the keys and references of the drawn tables', async (t) => {
    const drawnTables = [...page.matchAll(/^ {2}(\w+) \{\n([\s\S]*?)^ {2}\}/gm)]
    const tables = new Set(drawnTables.map(([, table]) => table))
    const drawn = drawnTables.flatMap(([, table, body = '']) =>
      [...body.matchAll(/^ {4}(.+)$/gm)].map(([, column]) => `${table}: ${column}`),
    )
    t.strictSame(
      sorted(drawn),
      sorted(
        columns
          .filter(({ table, keys }) => tables.has(table) && keys !== '')
          .map(({ table, name, type: of, keys }) => `${table}: ${type(of)} ${name} ${keys}`),
      ),
    )

    const lines = [...page.matchAll(/^ {2}(\w+ (?:\|\||\|o)--o[{|] \w+ : \w+)$/gm)].map(
      ([, line = '']) => line,
    )
    const references = await readReferences(db)
    t.strictSame(
      sorted(lines),
      sorted(
        references.filter((line) => {
          const [parent, , child] = line.split(' ')
          return tables.has(parent) && tables.has(child)
        }),
      ),
    )
  })

  await t.test('functions with as many parameters', async (t) => {
    const functionsOnPage = [...page.matchAll(/^- `(\w+)\((.*)\)`/gm)]
    t.ok(functionsOnPage.length > 5)
    for (const [, name = '', parameters = ''] of functionsOnPage) {
      const { rows } = await sql`select from pg_proc where proname = ${name} and pronargs =
        ${parameters.split(', ').length}`.execute(db)
      t.equal(rows.length, 1, name)
    }
  })

  await t.test('tables, columns, constraints and functions', async (t) => {
    const names = [...page.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)]
    t.ok(names.length > 10)
    for (const [, name = ''] of names) {
      const { rows } = await sql`
        select from pg_class where relname = ${name}
        union all select from pg_attribute where attname = ${name}
        union all select from pg_constraint where conname = ${name}
        union all select from pg_proc where proname = ${name}
        -- A trigger reports an error as if a constraint of this name had found it.
        union all select from pg_proc where prosrc like ${`%constraint = '${name}'%`}
        limit 1`.execute(db)
      t.equal(rows.length, 1, name)
    }
  })
})

t.test(
  'the table currencies agrees with the ISO 4217 list that amounts are formatted with',
  async (t) => {
    const { db } = database
    const stored = await db.selectFrom('currencies').selectAll().orderBy('code').execute()
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
    const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)))
    const expected = codes
      .map((code) => ({ code, digits: getCurrencyDigits(code) }))
      .filter(({ digits }) => digits !== undefined)
    t.strictSame(stored, expected)
    t.strictSame(
      await sql`select count(*)::integer as count from countries`
        .execute(db)
        .then(({ rows }) => rows),
      [{ count: 250 }],
    )
  },
)

t.test('line_net is exact and rounds half up once', async (t) => {
  const { db } = database
  const computeNet = async (...values: (string | number)[]) => {
    const { rows } = await sql<{
      net: string
    }>`select line_net(${sql.join(values.map(String))})::text as net`.execute(db)
    return rows[0]?.net
  }
  t.equal(await computeNet('1', '0.005', '0', 2), '0.01', 'half is rounded up')
  t.equal(await computeNet('1', '0.0049', '0', 2), '0.00')
  t.equal(await computeNet('1', '0.5', '0', 0), '1', 'in a currency without decimals')
  t.equal(
    await computeNet('1001086', '12345689.81', '9.7', 2),
    '11160264797907.69',
    '11160264797907.69498 is not rounded twice',
  )

  const decimal = (whole: bigint, scale: number) =>
    fc.tuple(fc.bigInt(0n, whole * 10n ** BigInt(scale)), fc.constant(scale))
  const line = fc.tuple(
    decimal(10n ** 11n, 6),
    decimal(10n ** 14n, 4),
    decimal(100n, 4),
    fc.integer({ min: 0, max: 4 }),
  )
  const samples = fc.sample(line, { numRuns: 500, seed: 4217 })
  const expectedNets = samples.map(([[quantity], [price], [discount], digits]) => {
    const unit = 10n ** BigInt(6 + 4 + 4 + 2 - digits)
    return formatDecimal(
      (2n * quantity * price * (1_000_000n - discount) + unit) / (2n * unit),
      digits,
    )
  })
  const texts = samples.map(([...values]) =>
    values.slice(0, 3).map((value) => formatDecimal(...(value as [bigint, number]))),
  )
  const { rows } = await sql<{ net: string }>`
    select line_net(quantity, unit_price, discount, digits)::text as net
    from unnest(
      ${texts.map(([quantity]) => quantity)}::numeric[],
      ${texts.map(([, price]) => price)}::numeric[],
      ${texts.map(([, , discount]) => discount)}::numeric[],
      ${samples.map(([, , , digits]) => digits)}::integer[]
    ) with ordinality as line (quantity, unit_price, discount, digits, place)
    order by place`.execute(db)
  t.strictSame(
    rows.map((row) => row.net),
    expectedNets,
  )
})

type Values = { [column: string]: string | number | null }

const product: Values = { sku: 'AB-1', name: 'Martillo', price: '12.50', currency: 'EUR' }
const quote: Values = {
  number: 'P-1',
  version: 1,
  status: 'accepted',
  currency: 'EUR',
  rate: '1',
  issued_on: '2026-03-02',
  valid_until: '2026-04-01',
  decided_on: '2026-03-18',
  incoterm: 'DAP',
  incoterm_place: 'Pamplona',
  net: '100',
  tax: '21',
  gross: '121',
}
const line: Values = {
  position: 1,
  description: 'Martillo',
  quantity: '8',
  unit_price: '12.5',
  tax_rate: '21',
  net: '100',
}

/**
 * A change of a good row, and the name of the constraint that rejects it, or of the column that may
 * not be null.
 */
const badValues: [
  table: 'products' | 'customers' | 'quotes' | 'quote_lines',
  change: Values,
  constraint: string,
][] = [
  ['products', { sku: '' }, 'products_sku_check'],
  ['products', { sku: ' AB-1' }, 'products_sku_check'],
  ['products', { sku: 'AB-1\n' }, 'products_sku_check'],
  ['products', { sku: 'x'.repeat(101) }, 'products_sku_check'],
  ['products', { sku: null }, 'sku'],
  ['products', { name: ' \t\n' }, 'products_name_check'],
  ['products', { name: null }, 'name'],
  ['products', { category: '' }, 'products_category_check'],
  ['products', { brand: ' ' }, 'products_brand_check'],
  ['products', { unit: 'kg' }, 'products_unit_check'],
  ['products', { unit: 'C62\n' }, 'products_unit_check'],
  ['products', { price: '-1' }, 'products_price_check'],
  ['products', { price: '1.00005' }, 'products_price_check'],
  ['products', { price: '1e15' }, 'products_price_check'],
  ['products', { price: null }, 'products_price_has_currency'],
  ['products', { currency: null }, 'products_price_has_currency'],
  ['products', { currency: 'XXX' }, 'products_currency_fkey'],
  ['products', { currency: 'eur' }, 'products_currency_fkey'],
  ['products', { hs_code: '8205.20' }, 'products_hs_code_check'],
  ['products', { hs_code: '820' }, 'products_hs_code_check'],
  ['products', { origin_country: 'EL' }, 'products_origin_country_fkey'],

  ['customers', { name: '\n' }, 'customers_name_check'],
  ['customers', { tax_id: '' }, 'customers_tax_id_check'],
  ['customers', { country: 'UK' }, 'customers_country_fkey'],

  ['quotes', { number: '' }, 'quotes_number_check'],
  ['quotes', { number: 'P-1 ' }, 'quotes_number_check'],
  ['quotes', { version: 0 }, 'quotes_version_check'],
  ['quotes', { status: 'open', decided_on: null }, 'quotes_status_check'],
  ['quotes', { status: 'Accepted', decided_on: null }, 'quotes_status_check'],
  ['quotes', { currency: 'BTC' }, 'quotes_currency_fkey'],
  ['quotes', { currency: null }, 'currency'],
  ['quotes', { country: 'Spain' }, 'quotes_country_fkey'],
  ['quotes', { country: 'XX' }, 'quotes_country_fkey'],
  ['quotes', { customer_id: '4711' }, 'quotes_customer_id_fkey'],
  ['quotes', { rate: '0' }, 'quotes_rate_check'],
  ['quotes', { rate: '-0.92' }, 'quotes_rate_check'],
  ['quotes', { rate: '1e12' }, 'quotes_rate_check'],
  ['quotes', { issued_on: null }, 'issued_on'],
  ['quotes', { issued_on: '1969-12-31' }, 'quotes_issued_on_check'],
  [
    'quotes',
    { issued_on: 'infinity', valid_until: null, decided_on: null },
    'quotes_issued_on_check',
  ],
  ['quotes', { issued_on: '-infinity' }, 'quotes_issued_on_check'],
  [
    'quotes',
    { issued_on: '9999-12-31', valid_until: null, decided_on: null },
    'quotes_not_misdated',
  ],
  [
    'quotes',
    { issued_on: '2100-01-01', valid_until: null, decided_on: null },
    'quotes_not_misdated',
  ],
  ['quotes', { valid_until: '2026-03-01' }, 'quotes_valid_after_issue'],
  ['quotes', { valid_until: 'infinity' }, 'quotes_valid_until_check'],
  ['quotes', { decided_on: '2026-03-01' }, 'quotes_decided_after_issue'],
  ['quotes', { decided_on: 'infinity' }, 'quotes_decided_on_check'],
  ['quotes', { decided_on: '2206-03-18' }, 'quotes_not_misdated'],
  ['quotes', { status: 'draft' }, 'quotes_decision_has_status'],
  ['quotes', { status: 'sent' }, 'quotes_decision_has_status'],
  ['quotes', { status: 'expired' }, 'quotes_decision_has_status'],
  ['quotes', { incoterm: 'DAT' }, 'quotes_incoterm_check'],
  ['quotes', { incoterm: null }, 'quotes_place_has_incoterm'],
  ['quotes', { language: 'xx' }, 'quotes_language_fkey'],
  ['quotes', { gross: '121.01' }, 'quotes_gross_is_net_and_tax'],
  ['quotes', { net: '-1', gross: '20' }, 'quotes_net_check'],
  ['quotes', { net: '1e30', tax: '0', gross: '1e30' }, 'quotes_net_check'],
  ['quotes', { net: '100.001', gross: '121.001' }, 'quotes_amounts_have_currency_digits'],
  ['quotes', { tax: '20.999', gross: '120.999' }, 'quotes_amounts_have_currency_digits'],
  [
    'quotes',
    { currency: 'JPY', net: '100.5', gross: '121.5' },
    'quotes_amounts_have_currency_digits',
  ],
  ['quotes', { tax: '-1e30', gross: '-999999999999999999999999999900' }, 'quotes_tax_check'],
  ['quotes', { rate: '2' }, 'quotes_base_currency_has_rate_one'],
  ['quotes', { tax_label: ' ' }, 'quotes_tax_label_check'],
  ['quotes', { tax_label: 'x'.repeat(21) }, 'quotes_tax_label_check'],

  ['quote_lines', { quote_id: '4711' }, 'quote_lines_quote_id_fkey'],
  ['quote_lines', { position: 0 }, 'quote_lines_position_check'],
  ['quote_lines', { description: '' }, 'quote_lines_description_check'],
  ['quote_lines', { description: null }, 'description'],
  ['quote_lines', { quantity: '-1e12' }, 'quote_lines_quantity_check'],
  ['quote_lines', { quantity: '0' }, 'quote_lines_quantity_check'],
  ['quote_lines', { quantity: '0.0000001' }, 'quote_lines_quantity_check'],
  ['quote_lines', { quantity: '1e12' }, 'quote_lines_quantity_check'],
  ['quote_lines', { unit: 'pieza' }, 'quote_lines_unit_check'],
  ['quote_lines', { unit_price: '-1e15' }, 'quote_lines_unit_price_check'],
  ['quote_lines', { unit_price: '12.500000001' }, 'quote_lines_unit_price_check'],
  ['quote_lines', { discount_percent: '100.01' }, 'quote_lines_discount_percent_check'],
  ['quote_lines', { discount_percent: '-5' }, 'quote_lines_discount_percent_check'],
  ['quote_lines', { discount_percent: null }, 'discount_percent'],
  ['quote_lines', { tax_rate: '101' }, 'quote_lines_tax_rate_check'],
  ['quote_lines', { surcharge_rate: '-5.2' }, 'quote_lines_surcharge_rate_check'],
  ['quote_lines', { tax_rate: null, surcharge_rate: '5.2' }, 'quote_lines_surcharge_has_tax'],
  ['quote_lines', { hs_code: '82O520' }, 'quote_lines_hs_code_check'],
  ['quote_lines', { origin_country: 'ESP' }, 'quote_lines_origin_country_fkey'],
  ['quote_lines', { net: '-1e27' }, 'quote_lines_net_check'],
  ['quote_lines', { net: '1.00001' }, 'quote_lines_net_check'],
  ['quote_lines', { kind: 'note' }, 'quote_lines_kind_check'],
  ['quote_lines', { kind: 'heading' }, 'quote_lines_kind_has_values'],
  ['quote_lines', { quantity: null }, 'quote_lines_kind_has_values'],
  ['quotes', { global_discount_amount: '1.001' }, 'quotes_amounts_have_currency_digits'],
  [
    'quotes',
    { global_discount_amount: '1', global_discount_percent: '1' },
    'quotes_one_global_discount',
  ],
]

/**
 * PostgreSQL sorts NaN and Infinity above every number: a check needs an upper bound to reject
 * them.
 */
for (const value of ['NaN', 'Infinity', '-Infinity']) {
  badValues.push(
    ['products', { price: value }, 'products_price_check'],
    ['quotes', { rate: value }, 'quotes_rate_check'],
    ['quotes', { net: value, gross: value }, 'quotes_net_check'],
    ['quotes', { tax: value, gross: value }, 'quotes_tax_check'],
    ['quotes', { gross: value }, 'quotes_gross_is_net_and_tax'],
    ['quotes', { global_discount_percent: value }, 'quotes_global_discount_percent_check'],
    ['quotes', { global_discount_amount: value }, 'quotes_global_discount_amount_check'],
    ['quotes', { withholding_percent: value }, 'quotes_withholding_percent_check'],
    ['quote_lines', { quantity: value }, 'quote_lines_quantity_check'],
    ['quote_lines', { unit_price: value }, 'quote_lines_unit_price_check'],
    ['quote_lines', { discount_percent: value }, 'quote_lines_discount_percent_check'],
    ['quote_lines', { tax_rate: value }, 'quote_lines_tax_rate_check'],
    ['quote_lines', { surcharge_rate: value }, 'quote_lines_surcharge_rate_check'],
    ['quote_lines', { net: value }, 'quote_lines_net_check'],
  )
}

t.test('the constraints reject bad values', async (t) => {
  const { db, pool } = await testDatabase(t)
  const parent = await insert(pool, 'quotes', quote)
  const goodRows = {
    products: product,
    customers: { name: 'Ejemplo' },
    quotes: { ...quote, number: 'P-2' },
    quote_lines: { quote_id: parent, ...line },
  }
  for (const [table, change, expected] of badValues) {
    const { constraint, column, message } = await readFailure(
      insert(pool, table, { ...goodRows[table], ...change }),
    )
    t.equal(
      constraint ?? column,
      expected,
      `${table} ${JSON.stringify(change).slice(0, 80)}: ${message}`,
    )
  }

  for (const [table, values] of Object.entries(goodRows))
    await t.resolves(insert(pool, table, values), `${table} accepts the row without the change`)
  t.equal(
    (await readFailure(insert(pool, 'products', product))).constraint,
    'products_sku_key',
    'a second product with the same SKU',
  )
  t.equal(
    (await readFailure(insert(pool, 'quotes', quote))).constraint,
    'quotes_number_version',
    'the same number and version twice',
  )
  t.equal(
    (await readFailure(insert(pool, 'quote_lines', goodRows.quote_lines))).constraint,
    'quote_lines_pkey',
    'two lines in one position',
  )
  t.equal(
    (await readFailure(insert(pool, 'customers', goodRows.customers))).constraint,
    'customers_identity',
    'the same customer, also without tax id',
  )
  await t.resolves(
    insert(pool, 'products', { ...product, sku: 'ab-1' }),
    'accepts a SKU that differs in case',
  )

  const numeric = (await readColumns(db)).filter(
    ({ type, table }) => type === 'numeric' && table in goodRows,
  )
  const triedColumns = badValues
    .filter(([, change]) => Object.values(change).includes('NaN'))
    .flatMap(([table, change]) => Object.keys(change).map((column) => `${table}.${column}`))
  t.strictSame(
    sorted(numeric.map(({ table, name }) => `${table}.${name}`)),
    sorted([...new Set(triedColumns)]),
    'NaN was tried in every numeric column',
  )
})

t.test(
  'deleting a customer keeps its quotes, and deleting a quote deletes its lines',
  async (t) => {
    const { db, pool } = await testDatabase(t)
    const customer = await insert(pool, 'customers', { name: 'Ejemplo' })
    const id = await insert(pool, 'quotes', {
      ...quote,
      customer_id: customer,
      customer_name: 'Ejemplo',
    })
    await insert(pool, 'quote_lines', { ...line, quote_id: id })
    await db.deleteFrom('customers').execute()
    const remainingQuotes = await db
      .selectFrom('quotes')
      .select(['customer_id', 'customer_name'])
      .execute()
    t.strictSame(remainingQuotes, [{ customer_id: null, customer_name: 'Ejemplo' }])
    await db.deleteFrom('quotes').execute()
    t.strictSame(await db.selectFrom('quote_lines').selectAll().execute(), [])
  },
)

/** Inserts one row and returns its id, where the table has one. */
async function insert(
  client: Pick<ClientBase, 'query'>,
  table: string,
  values: Values,
): Promise<string> {
  const columns = Object.keys(values)
  const parameters = columns.map((_, index) => `$${index + 1}`)
  const { rows } = await client.query(
    `insert into ${table} (${columns.join(', ')}) values (${parameters.join(', ')}) returning *`,
    Object.values(values),
  )
  return String(rows[0]?.id)
}

async function readFailure(
  attempt: Promise<unknown>,
): Promise<{ constraint?: string; column?: string; message: string }> {
  try {
    await attempt
  } catch (error) {
    return error as { constraint?: string; column?: string; message: string }
  }
  return { message: 'nothing was rejected' }
}

type Column = {
  table: string
  name: string
  type: string
  nullable: boolean
  keys: string
}

/** Reads the columns of the schema, without Kysely's own tables. */
async function readColumns(db: Database): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select c.relname as table, a.attname as name,
      format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
      concat_ws(', ',
        (select 'PK' from pg_constraint k
          where k.conrelid = c.oid and k.contype = 'p' and a.attnum = any (k.conkey)),
        (select 'FK' from pg_constraint k
          where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any (k.conkey)),
        (select 'UK' from pg_constraint k
          where k.conrelid = c.oid and k.contype = 'u' and k.conkey = array[a.attnum])
      ) as keys
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
      and not c.relispartition and c.relname !~ '^kysely_'
      and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`.execute(db)
  return rows
}

/** Reads the references between tables, as Mermaid draws them. */
async function readReferences(db: Database): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select format('%s %s--%s %s : %s', k.confrelid::regclass,
      case when a.attnotnull then '||' else '|o' end,
      case when exists (
        select from pg_constraint u
        where u.conrelid = k.conrelid and u.contype in ('p', 'u') and u.conkey = k.conkey
      ) then 'o|' else 'o{' end,
      k.conrelid::regclass, a.attname) as line
    from pg_constraint k
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey)
    where k.contype = 'f'`.execute(db)
  return rows.map(({ line }) => line)
}

function lastResult(results: QueryResult | QueryResult[]): QueryResult {
  const last = [results].flat().at(-1)
  if (!last) throw new Error('No statement ran')
  return last
}

function formatResult({ fields, rows }: QueryResult): string {
  const lines = rows.map((row) => fields.map(({ name }) => String(row[name] ?? '')).join(' | '))
  return `${[fields.map(({ name }) => name).join(' | '), ...lines].join('\n')}\n`
}

function formatDecimal(units: bigint, scale: number): string {
  const digits = String(units).padStart(scale + 1, '0')
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

const sorted = (texts: string[]): string[] => texts.toSorted()
