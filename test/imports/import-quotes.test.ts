// The import of quotes: how rows become quotes, which rows are rejected, and what a newer version
// does. csv-files.test.ts and import-command.test.ts test what all imports share.
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { cleanCell } from '../../src/imports/cells.ts'
import { type QuoteColumn, quoteColumns } from '../../src/imports/file-kinds.ts'
import { importQuotes, type QuotesSummary } from '../../src/imports/quotes/import-quotes.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { collectRejectedRows, readErrorOf } from './import-files.ts'

type Row = Partial<Record<QuoteColumn, string>>

const defaultRow: Row = {
  number: 'Q-1',
  status: 'sent',
  issued_on: '2026-03-01',
  valid_until: '2026-12-31',
  currency: 'EUR',
  description: 'Hammer',
  quantity: '1',
  unit_price: '10',
}

/** A file in memory: each row is `defaultRow` with the given changes. */
function quoteFile(...rows: Row[]): Readable {
  const lines = rows.map((row) =>
    quoteColumns
      .map((column) => `"${({ ...defaultRow, ...row }[column] ?? '').replaceAll('"', '""')}"`)
      .join(','),
  )
  return Readable.from([`${quoteColumns.join(',')}\n${lines.join('\n')}\n`])
}

async function queryRows(
  database: TestDatabase,
  query: string,
): Promise<Record<string, unknown>[]> {
  const { rows } = await sql<Record<string, unknown>>`${sql.raw(query)}`.execute(database.db)
  return rows
}

const readQuotes = (database: TestDatabase, columns = 'number, version, status') =>
  queryRows(database, `select ${columns} from quotes order by number, version`)
const readLines = (database: TestDatabase, columns = 'position, description') =>
  queryRows(
    database,
    `select ${columns} from quote_lines l join quotes q on q.id = l.quote_id
    order by q.number, q.version, l.position`,
  )

/**
 * Reads every row that an import might write, with its position and the transaction that wrote it.
 */
async function readEveryRow(database: TestDatabase) {
  const tables = ['customers', 'quotes', 'quote_lines', 'quote_shares']
  return Promise.all(
    tables.map((table) =>
      queryRows(database, `select ctid, xmin, t.* from ${table} t order by ctid`),
    ),
  )
}

/** Returns the error of an import that must fail, after checking that nothing was written. */
function readImportError(t: Test, database: TestDatabase, ...rows: Row[]): Promise<string> {
  return readErrorOf(t, {
    readEveryRow: () => readEveryRow(database),
    runImport: () => importQuotes(database.pool, quoteFile(...rows)),
  })
}

/** Returns a summary with these counts. All other counts are 0. */
const summary = (counts: Partial<QuotesSummary>): QuotesSummary => ({
  readAs: 'UTF-8; cells separated by commas; decimal point',
  read: 0,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  rejected: 0,
  rejectedQuotes: 0,
  superseded: 0,
  customers: 0,
  warnings: [],
  ...counts,
})

const database = await testDatabase(t)
t.beforeEach(async () => {
  await database.db.deleteFrom('quotes').execute()
  await database.db.deleteFrom('customers').execute()
})

t.test('imports quotes with all fields, even if their rows are not together', async (t) => {
  const full: Row = {
    number: 'P-7',
    version: '2',
    status: 'accepted',
    issued_on: '2024-02-29',
    valid_until: '2024-03-31',
    decided_on: '2024-03-02',
    customer_name: 'Ferretería Ñ, S.L.',
    customer_tax_id: 'B12345678',
    customer_address: 'Calle Mayor 1\n28001 Madrid',
    customer_contact: 'Ana "la jefa"',
    country: 'FR',
    currency: 'USD',
    rate: '0.91734',
    incoterm: 'FCA',
    incoterm_place: 'Valencia',
    delivery: '10 días',
    payment_terms: '30 días',
    language: 'es',
    notes: 'Sin transporte',
    internal_notes: 'Margen 12 %',
  }
  const hammer: Row = {
    position: '2',
    sku: 'AB-1',
    description: 'Martillo',
    quantity: '2.5',
    unit: 'KGM',
    unit_price: '3.3333',
  }
  const saw: Row = {
    position: '1',
    description: 'Sierra',
    quantity: '1',
    unit_price: '0',
    hs_code: '820210',
    origin_country: 'PT',
  }
  const taxes: Row = { discount_percent: '12.5', tax_rate: '21', surcharge_rate: '5.2' }
  const result = await importQuotes(
    database.pool,
    quoteFile({ ...full, ...hammer, ...taxes }, defaultRow, { ...full, ...saw }),
  )
  t.same(result, summary({ read: 3, inserted: 2, customers: 1 }))

  const [quote] = await queryRows(
    database,
    `select q.*, c.name as matched_name, c.address
    from quotes q join customers c on c.id = q.customer_id`,
  )
  // 2.5 × 3.3333 × 87.5 % = 7.2916…
  t.match(quote, {
    ...full,
    version: 2,
    net: '7.29',
    tax: '1.91',
    gross: '9.20',
    matched_name: full.customer_name,
    address: full.customer_address,
  })
  const stored =
    'number, position, sku, description, quantity, unit, unit_price, discount_percent, ' +
    'tax_rate, surcharge_rate, hs_code, origin_country, l.net'
  const emptyColumns = {
    sku: null,
    unit: null,
    discount_percent: '0',
    tax_rate: null,
    surcharge_rate: null,
    hs_code: null,
    origin_country: null,
  }
  t.same(await readLines(database, stored), [
    { ...emptyColumns, ...saw, number: 'P-7', position: 1, net: '0.00' },
    { ...emptyColumns, ...hammer, ...taxes, number: 'P-7', position: 2, net: '7.29' },
    {
      ...emptyColumns,
      number: 'Q-1',
      position: 1,
      description: 'Hammer',
      quantity: '1',
      unit_price: '10',
      net: '10.00',
    },
  ])
  t.match(await queryRows(database, "select * from quotes where number = 'Q-1'"), [
    {
      version: 1,
      rate: '1',
      customer_id: null,
      customer_name: null,
      country: null,
      valid_until: '2026-12-31',
      net: '10.00',
      tax: '0.00',
      gross: '10.00',
    },
  ])
})

t.test('numbers the lines of a quote without positions in the order of the file', async (t) => {
  const other = { number: 'Q-2', position: '7' }
  await importQuotes(
    database.pool,
    quoteFile(
      { description: 'c' },
      other,
      { description: 'a' },
      { number: 'Q-3' },
      { description: 'b' },
    ),
  )
  t.same(await readLines(database, 'number, position, description'), [
    { number: 'Q-1', position: 1, description: 'c' },
    { number: 'Q-1', position: 2, description: 'a' },
    { number: 'Q-1', position: 3, description: 'b' },
    { number: 'Q-2', position: 7, description: 'Hammer' },
    { number: 'Q-3', position: 1, description: 'Hammer' },
  ])
})

t.test(
  'does not write unchanged quotes, and replaces the lines but keeps the links of changed ones',
  async (t) => {
    const { db, pool } = database
    const customer = { customer_name: 'Bricolaje Uno', country: 'ES' }
    const before: Row[] = [
      { number: 'Q-1', ...customer, position: '1', tax_rate: '21' },
      { number: 'Q-1', ...customer, position: '2', description: 'Saw', tax_rate: '21' },
      { number: 'Q-2', ...customer, quantity: '3' },
      { number: 'Q-3', ...customer },
      { number: 'Q-4', ...customer },
    ]
    t.match(await importQuotes(pool, quoteFile(...before)), { inserted: 4, customers: 1 })
    const hash = createHash('sha256').update(randomBytes(32)).digest()
    const otherHash = createHash('sha256').digest()
    await sql`
      select create_quote_share('Q-1', null, ${hash}), create_quote_share('Q-4', null, ${otherHash})
    `.execute(db)

    const stored = await readEveryRow(database)
    const same = before.toReversed().map((row) => ({
      ...row,
      version: '1',
      rate: '1.0',
      quantity: `${row.quantity ?? '1'}.00`,
      discount_percent: '0',
    }))
    t.same(await importQuotes(pool, quoteFile(...same)), summary({ read: 5, unchanged: 4 }))
    t.same(
      await readEveryRow(database),
      stored,
      'the same values in a different notation and order write no row',
    )

    const changed = [
      { number: 'Q-1', ...customer, position: '1', tax_rate: '21' },
      {
        number: 'Q-1',
        ...customer,
        position: '3',
        description: 'Axe',
        tax_rate: '21',
        quantity: '2',
      },
      { number: 'Q-2', ...customer, quantity: '3', description: 'Mallet' },
      { number: 'Q-3', ...customer, status: 'accepted', decided_on: '2026-03-05' },
      { number: 'Q-4', ...customer },
    ]
    t.same(
      await importQuotes(pool, quoteFile(...changed)),
      summary({ read: 5, updated: 3, unchanged: 1 }),
    )
    t.same(await readLines(database, 'number, position, description'), [
      { number: 'Q-1', position: 1, description: 'Hammer' },
      { number: 'Q-1', position: 3, description: 'Axe' },
      { number: 'Q-2', position: 1, description: 'Mallet' },
      { number: 'Q-3', position: 1, description: 'Hammer' },
      { number: 'Q-4', position: 1, description: 'Hammer' },
    ])
    t.match(await readQuotes(database, 'number, status, decided_on, net, tax'), [
      { number: 'Q-1', net: '30.00', tax: '6.30' },
      { number: 'Q-2', net: '30.00' },
      { number: 'Q-3', status: 'accepted', decided_on: '2026-03-05' },
      { number: 'Q-4' },
    ])
    const [customers, rows = [], lineRows = [], shares] = await readEveryRow(database)
    t.same([customers, shares], [stored[0], stored[3]], 'customers and links are unchanged')
    t.same(
      rows.map(({ id }) => id).sort(),
      stored[1]?.map(({ id }) => id).sort(),
      'the quotes keep their ids',
    )
    t.same(
      rows.filter(({ number }) => number === 'Q-4'),
      stored[1]?.filter(({ number }) => number === 'Q-4'),
    )
    const untouched = rows
      .filter(({ number }) => number === 'Q-3' || number === 'Q-4')
      .map(({ id }) => id)
    const isOfUntouchedQuote = (row: Record<string, unknown>) => untouched.includes(row.quote_id)
    t.same(
      lineRows.filter(isOfUntouchedQuote),
      stored[2]?.filter(isOfUntouchedQuote),
      'unchanged lines are not replaced, even if their quote changed',
    )
  },
)

t.test(
  'a version that was sent supersedes older ones in the file and in the database, in any order',
  async (t) => {
    const { pool } = database
    const accepted = { status: 'accepted', decided_on: '2026-03-02' }
    t.match(await importQuotes(pool, quoteFile({ version: '2' }, accepted)), {
      inserted: 2,
      superseded: 0,
    })
    t.match(await readQuotes(database, 'version, status, decided_on'), [
      { version: 1, status: 'superseded', decided_on: '2026-03-02' },
      { version: 2, status: 'sent' },
    ])
    t.match(
      await importQuotes(pool, quoteFile({ version: '2' }, accepted)),
      { unchanged: 2 },
      'a second import changes nothing',
    )
    t.match(
      await importQuotes(pool, quoteFile(accepted)),
      { unchanged: 1 },
      'an older version imported alone stays superseded',
    )
    t.match(
      await importQuotes(pool, quoteFile({ version: '10', status: 'draft' })),
      { inserted: 1, superseded: 0 },
      'a draft supersedes nothing',
    )
    t.match(
      await importQuotes(pool, quoteFile({ version: '9' }, { version: '3', status: 'superseded' })),
      { inserted: 2, superseded: 1 },
    )
    t.match(
      (await readQuotes(database)).map(({ version, status }) => `${version} ${status}`),
      ['1 superseded', '2 superseded', '3 superseded', '9 sent', '10 draft'],
    )
    t.match(
      await importQuotes(pool, quoteFile({ number: 'Q-2', status: 'superseded' })),
      { inserted: 1 },
      'a file may have the status itself',
    )
    const { rejectedRows } = collectRejectedRows()
    await importQuotes(
      pool,
      quoteFile({ number: 'Q-3' }, { number: 'Q-3', version: '2', quantity: '0' }),
      { rejectedRows },
    )
    t.match(
      await queryRows(database, "select version, status from quotes where number = 'Q-3'"),
      [{ version: 1, status: 'sent' }],
      'a rejected version supersedes nothing',
    )
  },
)

t.test('creates missing customers, and never changes existing ones', async (t) => {
  await database.db
    .insertInto('customers')
    .values({ name: 'Old', tax_id: null, country: 'ES', address: 'Here', contact_name: null })
    .execute()
  const result = await importQuotes(
    database.pool,
    quoteFile(
      { number: 'Q-1', customer_name: 'Old', country: 'ES', customer_address: 'There' },
      { number: 'Q-2', customer_name: 'Old', country: 'PT' },
      {
        number: 'Q-3',
        customer_name: 'New',
        customer_tax_id: 'X1',
        customer_address: 'First',
        customer_contact: 'Eva',
      },
      { number: 'Q-4', customer_name: 'New', customer_tax_id: 'X1', customer_address: 'Second' },
      { number: 'Q-5', customer_name: 'New', customer_tax_id: 'X2' },
      { number: 'Q-6', customer_tax_id: 'X3', customer_address: 'Nobody' },
    ),
  )
  t.match(result, { inserted: 6, customers: 3 })
  t.same(
    await queryRows(
      database,
      `select name, tax_id, country, address, contact_name from customers
      order by name, tax_id, country`,
    ),
    [
      { name: 'New', tax_id: 'X1', country: null, address: 'First', contact_name: 'Eva' },
      { name: 'New', tax_id: 'X2', country: null, address: null, contact_name: null },
      { name: 'Old', tax_id: null, country: 'ES', address: 'Here', contact_name: null },
      { name: 'Old', tax_id: null, country: 'PT', address: null, contact_name: null },
    ],
  )
  const joined = await queryRows(
    database,
    `select q.number, q.customer_address, c.address
    from quotes q left join customers c on c.id = q.customer_id order by 1`,
  )
  t.match(joined, [
    { number: 'Q-1', customer_address: 'There', address: 'Here' },
    { number: 'Q-2', address: null },
    { number: 'Q-3', address: 'First' },
    { number: 'Q-4', customer_address: 'Second', address: 'First' },
    { number: 'Q-5', address: null },
    { number: 'Q-6', customer_address: 'Nobody', address: null },
  ])
})

t.test(
  'sets the rate of the base currency to 1, and accepts other currencies without a rate',
  async (t) => {
    const database = await testDatabase(t)
    const rates: Row[] = [
      {},
      { rate: '1' },
      { rate: '01.000' },
      { currency: 'USD' },
      { currency: 'USD', rate: '0.000000000001' },
      { currency: 'JPY', rate: '1' },
    ]
    await importQuotes(
      database.pool,
      quoteFile(...rates.map((row, index) => ({ number: `Q-${index}`, ...row }))),
    )
    t.same(
      (await readQuotes(database, 'number, rate')).map(({ rate }) => rate),
      ['1', '1', '1', null, '0.000000000001', '1'],
    )
    t.match(
      await readImportError(t, database, { rate: '1.01' }),
      'line 2: rate: "1.01" must be 1 or empty: EUR is the base currency',
    )
    t.match(
      await readImportError(t, database, { currency: 'USD', rate: '0.0' }),
      'rate: "0.0" must be above 0',
    )
    await database.db.deleteFrom('company').execute()
    await t.rejects(importQuotes(database.pool, quoteFile({})), {
      message: /company is not recorded .*make migrate/,
    })
  },
)

t.test('rejects an invalid row with its line, its column and the reason', async (t) => {
  const cases: [row: Row, problem: string][] = [
    [{ number: '' }, 'number: is missing'],
    [{ number: 'x'.repeat(65) }, 'number: has 65 characters'],
    [{ version: '0' }, 'version: "0" is not a whole number from 1'],
    [{ version: '1.0' }, 'version: "1.0" is not a whole number'],
    [{ version: '4294967297' }, 'version: "4294967297" is not a whole number'],
    [{ status: '' }, 'status: is missing'],
    [
      { status: 'open' },
      'status: "open" is not one of draft, sent, accepted, rejected, expired, withdrawn, superseded',
    ],
    [{ issued_on: '' }, 'issued_on: is missing'],
    [{ issued_on: '31/12/25' }, 'issued_on: "31/12/25" is not a date such as 2026-12-31'],
    [{ issued_on: '2025-02-29' }, 'issued_on: "2025-02-29" is a day that does not exist'],
    [{ issued_on: '1969-12-31' }, 'issued_on: "1969-12-31" is before 1970'],
    [{ issued_on: '2100-01-01', valid_until: '' }, 'issued_on: "2100-01-01" is after 2099'],
    [{ status: 'accepted', decided_on: '9999-12-31' }, 'decided_on: "9999-12-31" is after 2099'],
    [{ issued_on: 'today' }, 'issued_on: "today" is not a date'],
    [{ valid_until: '2026-04-31' }, 'valid_until: "2026-04-31" is a day that does not exist'],
    [{ valid_until: '2026-02-28' }, 'valid_until: "2026-02-28" is before issued_on, 2026-03-01'],
    [
      { status: 'accepted', decided_on: '2026-02-28' },
      'decided_on: "2026-02-28" is before issued_on, 2026-03-01',
    ],
    [
      { status: 'expired', decided_on: '2026-03-02' },
      'decided_on: is given, but the status is expired',
    ],
    [{ customer_name: 'x'.repeat(501) }, 'customer_name: has 501 characters'],
    [{ customer_tax_id: 'x'.repeat(51) }, 'customer_tax_id: has 51 characters'],
    [{ customer_address: 'x'.repeat(2_001) }, 'customer_address: has 2001 characters'],
    [{ customer_contact: 'x'.repeat(501) }, 'customer_contact: has 501 characters'],
    [{ country: 'España' }, 'country: "España" is not an ISO 3166-1 alpha-2 country'],
    [{ currency: '' }, 'currency: is missing'],
    [{ currency: '€' }, 'currency: "€" is not an ISO 4217 currency'],
    [{ currency: 'USD', rate: '1e-3' }, 'rate: "1e-3" is not a number with a decimal point'],
    [{ incoterm: 'DAT' }, 'incoterm: "DAT" is not an Incoterms 2020 rule'],
    [{ incoterm_place: 'Valencia' }, 'incoterm_place: is given without an incoterm'],
    [{ incoterm: 'FOB', incoterm_place: 'x'.repeat(201) }, 'incoterm_place: has 201 characters'],
    [{ delivery: 'x'.repeat(2_001) }, 'delivery: has 2001 characters'],
    [{ payment_terms: 'x'.repeat(2_001) }, 'payment_terms: has 2001 characters'],
    [{ language: 'xx' }, 'language: "xx" is not one of es, en, pt, fr, it, de'],
    [{ notes: 'x'.repeat(10_001) }, 'notes: has 10001 characters'],
    [{ internal_notes: 'x'.repeat(10_001) }, 'internal_notes: has 10001 characters'],
    [{ position: '-1' }, 'position: "-1" is not a whole number from 1'],
    [{ sku: 'x'.repeat(101) }, 'sku: has 101 characters'],
    [{ description: '' }, 'description: is missing'],
    [{ quantity: '' }, 'quantity: is missing'],
    [
      { quantity: '-1000000000000' },
      'quantity: "-1000000000000" must be other than 0, above -1000000000000 and below 1000000',
    ],
    [{ quantity: '0.0' }, 'quantity: "0.0" must be other than 0'],
    [{ quantity: '1.0000001' }, 'quantity: "1.0000001" must be other than 0, above'],
    [{ tax_label: 'x'.repeat(21) }, 'tax_label: has 21 characters: at most 20 are allowed'],
    [
      { quantity: '-3' },
      'number: the lines of quote Q-1 add up to -30.00 EUR, which is below zero',
    ],
    [{ unit: 'barril' }, 'unit: "barril" is not a UN/ECE Recommendation 20 code'],
    [{ unit_price: '-1' }, 'number: the lines of quote Q-1 add up to -1.00 EUR'],
    [{ unit_price: '1 00' }, 'unit_price: "1 00" is not a number'],
    [
      { discount_percent: '100.01' },
      'discount_percent: "100.01" must be from 0 to 100, with at most 4 decimals',
    ],
    [{ tax_rate: '21 €' }, 'tax_rate: "21 €" is not a number'],
    [{ tax_rate: '101' }, 'tax_rate: "101" must be from 0 to 100'],
    [{ surcharge_rate: '5.2' }, 'surcharge_rate: is given without a tax_rate'],
    [{ hs_code: '82' }, 'hs_code: "82" is not an HS code'],
    [{ origin_country: 'XX' }, 'origin_country: "XX" is not an ISO 3166-1 alpha-2 country'],
  ]
  for (const [row, problem] of cases)
    t.match(
      await readImportError(t, database, { number: 'Q-2' }, row),
      `line 3: ${problem}`,
      problem,
    )
})

t.test('names an invalid cell once, and not in rules between cells too', async (t) => {
  const read = async (row: Row) => {
    const message = await readImportError(t, database, { number: 'Q-2' }, row)
    return message.split('\n')[1]?.trim()
  }
  t.equal(
    await read({ issued_on: '2026-02-31' }),
    'line 3: issued_on: "2026-02-31" is a day that does not exist',
  )
  t.match(await read({ rate: '1e0' }), /^line 3: rate: "1e0" is not a number[^;]*$/)
})

t.test('rejects contradictory rows of a quote, and names the column and both lines', async (t) => {
  const ana = { customer_name: 'Ana', notes: 'n' }
  const message = await readImportError(
    t,
    database,
    ana,
    { number: 'Q-2' },
    ana,
    { ...ana, customer_name: 'Eva', notes: '' },
    { ...ana, version: '2', notes: 'm' },
  )
  t.match(message, 'One row is invalid')
  t.match(
    message,
    'line 5: customer_name: "Eva" here, but "Ana" on line 2 of the same quote; ' +
      'notes: empty here, but "n" on line 2 of the same quote',
  )
})

t.test('says where long texts of a quote differ, and that they are cut', async (t) => {
  const same = 'a'.repeat(70)
  t.match(
    await readImportError(t, database, { notes: `b${same}` }, { notes: `c\n${same}` }),
    `line 3: notes: "c ${'a'.repeat(58)}…" here, but "b${'a'.repeat(59)}…" on line 2 of the same`,
  )
  t.match(
    await readImportError(t, database, { notes: `${same}b` }, { notes: `${same}c` }),
    `line 3: notes: "${'a'.repeat(60)}…" here differs at character 71 from line 2 of the same`,
  )
  t.match(
    await readImportError(t, database, { notes: 'a\nb' }, { notes: 'a b' }),
    'line 4: notes: "a b" here differs at character 2 from line 2 of the same quote',
  )
  t.match(
    await readImportError(t, database, { notes: same }, { notes: `${same}, b` }),
    'here differs at character 71 from line 2',
  )
})

t.test('rejects positions that occur twice in a quote, or only on some of its rows', async (t) => {
  const rows = [
    { position: '1' },
    { position: '2' },
    { position: '01' },
    { number: 'Q-2', position: '1' },
    { version: '2', position: '1' },
  ]
  const twice = await readImportError(t, database, ...rows)
  t.match(
    twice,
    /One row is invalid.*\n {2}line 4: position: 1 is already on line 2 of the same quote/,
  )
  const mixed = await readImportError(t, database, { position: '1' }, {}, { position: '3' }, {})
  t.match(mixed, /2 rows are invalid/)
  t.match(mixed, 'line 3: position: is empty, but other rows of the quote have one')
})

const parseRejectedRows = (content: string): Record<string, string>[] =>
  parse(content, { columns: true, relax_column_count: true })

t.test(
  'with rejects, rejects the whole quote of an invalid row, and imports it when it is corrected',
  async (t) => {
    const { rejectedRows, content } = collectRejectedRows()
    const result = await importQuotes(
      database.pool,
      quoteFile(
        { number: 'Q-1', position: '1' },
        { number: 'Q-2', position: '1' },
        { number: 'Q-1', position: '2', quantity: '3x', unit: 'barril' },
        { number: 'Q-1', version: '2' },
        { number: 'Q-3', status: 'draft' },
        { number: 'Q-3' },
      ),
      { rejectedRows },
    )
    t.same(result, summary({ read: 6, inserted: 2, rejected: 4, rejectedQuotes: 2 }))
    t.same(await readQuotes(database), [
      { number: 'Q-1', version: 2, status: 'sent' },
      { number: 'Q-2', version: 1, status: 'sent' },
    ])
    t.match(parseRejectedRows(content()), [
      {
        line: '2',
        reason: 'another row of quote Q-1 version 1 is invalid: line 4',
        number: 'Q-1',
        position: '1',
        quantity: '1',
      },
      { line: '4', reason: /^quantity: "3x" .*; unit: "barril"/, number: 'Q-1', quantity: '3x' },
      { line: '6', reason: 'another row of quote Q-3 version 1 is invalid: line 7' },
      { line: '7', reason: 'status: "sent" here, but "draft" on line 6 of the same quote' },
    ])
    t.ok(content().startsWith(`line,reason,${quoteColumns.join(',')}\n`))

    const [header = '', ...badRows] = content().trimEnd().split('\n')
    const corrected = badRows.slice(0, 2).map((row) => row.replace(',3x,barril,', ',3,C62,'))
    t.match(
      await importQuotes(database.pool, Readable.from([`${[header, ...corrected].join('\n')}\n`])),
      { inserted: 1, read: 2 },
    )
    t.match(await readQuotes(database), [
      { version: 1, status: 'superseded' },
      { version: 2 },
      { number: 'Q-2' },
    ])
  },
)

t.test('with rejects, imports nothing if the quote of an invalid row is unknown', async (t) => {
  const readRejectsError = (content: string) =>
    readErrorOf(t, {
      readEveryRow: () => readEveryRow(database),
      runImport: () => importQuotes(database.pool, Readable.from([content]), collectRejectedRows()),
    })
  const others = 'status,issued_on,currency,description,quantity,unit_price'
  const sent = 'sent,2026-03-01,EUR'
  t.equal(
    await readRejectsError(`number,${others}\nQ-1,${sent},Hammer,1,10\n,${sent},Saw,1,10\n`),
    'The number of an invalid row is unknown, so nothing was imported:\n' +
      '  line 3: number: is missing\n' +
      'Correct this first: --rejects would import a quote without some of its lines.',
    'the number is only on the first row of the quote',
  )
  const isMoved =
    `description,number,${others.replace('description,', '')}\n` +
    `Hammer,Q-1,${sent},1,10\nSaw, large,Q-1,${sent},1,10\n`
  t.match(
    await readRejectsError(isMoved),
    /^The number of an invalid row is unknown, .*\n {2}line 3: has 8 cells/,
    'a comma moves the number',
  )
})

t.test('rejects every version of a number if an invalid row has no readable version', async (t) => {
  const { rejectedRows, content } = collectRejectedRows()
  const header = 'number,version,status,issued_on,currency,description,quantity,unit_price'
  const row = (number: string, version: string, description = 'Hammer') =>
    `${number},${version},sent,2026-03-01,EUR,${description},1,10`
  const lines = [
    header,
    row('Q-1', '1'),
    row('Q-2', '1'),
    row('Q-1', '2'),
    row('Q-1', '1', 'Saw, large'),
    row('Q-3', 'two'),
    row('Q-3', '1'),
    'Q-4',
  ]
  const result = await importQuotes(database.pool, Readable.from([lines.join('\n')]), {
    rejectedRows,
  })
  t.match(result, { read: 7, inserted: 1, rejected: 6, rejectedQuotes: 3 })
  t.match(await readQuotes(database), [{ number: 'Q-2' }])
  t.same(
    parseRejectedRows(content()).map(({ line, reason }) => `${line} ${reason?.split(':')[0]}`),
    [
      '2 another row of quote Q-1 version 1 is invalid',
      '4 another row of quote Q-1 version 2 is invalid',
      '5 has 9 cells, but the header has 8',
      '6 version',
      '7 another row of quote Q-3 version 1 is invalid',
      '8 has 1 cell, but the header has 8',
    ],
  )
})

t.test(
  'computes net, tax and gross as quote_totals() does, for any lines and currency',
  async (t) => {
    const scaled = (most: bigint, decimals: number) =>
      fc
        .tuple(fc.bigInt(0n, most), fc.integer({ min: 0, max: decimals }))
        .map(([whole, decimalCount]) => {
          const digits = String(whole).padStart(decimalCount + 1, '0')
          return decimalCount === 0
            ? digits
            : `${digits.slice(0, -decimalCount)}.${digits.slice(-decimalCount)}`
        })
    const line = fc.record({
      quantity: scaled(10n ** 6n, 6).map((value) => (/[1-9]/.test(value) ? value : '0.5')),
      sign: fc.constantFrom('', '', '-'),
      unit_price: scaled(10n ** 8n, 4),
      discount_percent: fc.constantFrom('', '0', '50', '33.3333', '100', '12.5'),
      taxes: fc.constantFrom(
        ['', ''],
        ['21', ''],
        ['21.00', '5.2'],
        ['10', '1.4'],
        ['4', '0.5'],
        ['0', ''],
      ),
    })
    const quote = fc.tuple(
      fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF', 'USD'),
      fc.array(line, { minLength: 1, maxLength: 6 }),
    )
    const rows = fc.sample(quote, { numRuns: 400, seed: 71 }).flatMap(([currency, lines], index) =>
      lines.map(({ taxes: [tax_rate = '', surcharge_rate = ''], sign, quantity, ...rest }) => ({
        number: `Q-${index}`,
        currency,
        tax_rate,
        surcharge_rate,
        quantity: sign + quantity,
        ...rest,
      })),
    )
    const { inserted, rejectedQuotes } = await importQuotes(
      database.pool,
      quoteFile(...rows),
      collectRejectedRows(),
    )
    t.equal(inserted + rejectedQuotes, 400)
    t.ok(inserted > 250 && rejectedQuotes > 20, 'quotes below zero are rejected')
    const compared = await queryRows(
      database,
      `select count(*)::integer as quotes,
        count(*) filter (
          where (q.net, q.tax, q.gross) is distinct from (t.net, t.tax, t.gross)
        )::integer as wrong,
        count(*) filter (
          where scale(q.net) <> c.digits or scale(q.tax) <> c.digits
        )::integer as odd
      from quotes q
      join currencies c on c.code = q.currency
      cross join lateral quote_totals(q.id) t`,
    )
    t.same(compared, [{ quotes: inserted, wrong: 0, odd: 0 }])
    const nets = `
      select count(*)::integer as wrong
      from quote_lines l
      join quotes q on q.id = l.quote_id
      join currencies c on c.code = q.currency
      where l.net <> line_net(l.quantity, l.unit_price, l.discount_percent, c.digits)`
    t.same(await queryRows(database, nets), [{ wrong: 0 }])

    await importQuotes(
      database.pool,
      quoteFile(
        { number: 'H', currency: 'JPY', quantity: '0.5', unit_price: '1' },
        { number: 'H', currency: 'JPY', quantity: '2.5', unit_price: '1' },
      ),
    )
    t.match(
      await queryRows(database, "select net from quotes where number = 'H'"),
      [{ net: '4' }],
      'half is rounded up',
    )

    // A division by 100 would round this surcharge twice, and be a cent off.
    await importQuotes(
      database.pool,
      quoteFile({
        number: 'L',
        unit_price: '123456789123457.98',
        tax_rate: '10',
        surcharge_rate: '1.4',
      }),
    )
    const large = `
      select q.tax = t.tax as same from quotes q, quote_totals(q.id) t where number = 'L'`
    t.same(await queryRows(database, large), [{ same: true }], 'also for large amounts')
  },
)

t.test('imports or rejects rows with any cells, without an error of PostgreSQL', async (t) => {
  const oddCells = [
    '',
    '0',
    '-0',
    '1',
    '1e9',
    "'",
    '"',
    '\\N',
    '\t',
    '\n',
    '\u0001',
    '💶',
    'today',
    'infinity',
    '0000-01-01',
    '2026-02-30',
    '9'.repeat(40),
  ]
  const cell = fc.oneof(
    fc.constantFrom(...oddCells),
    fc.string({ unit: 'binary', maxLength: 6 }).map((text) => text.replaceAll('\0', '')),
    fc.stringMatching(/^[0-9.-]{1,12}$/),
  )
  const goodRow: Row = {
    ...defaultRow,
    valid_until: '2026-04-01',
    country: 'ES',
    tax_rate: '21',
    incoterm: 'FCA',
    position: '1',
  }
  // At most two odd cells in a valid row: rows with many odd cells would all be rejected.
  const row = fc.tuple(
    fc.constantFrom('Q-1', 'Q-2', 'Q-3', 'Q-4'),
    fc.nat(40),
    fc.array(fc.tuple(fc.constantFrom(...quoteColumns), cell), { maxLength: 2 }),
  )
  const samples = fc.sample(row, { numRuns: 3_000, seed: 20261121 })
  const rows = samples.map(([number, version, changes], index) => {
    return {
      ...goodRow,
      number,
      version: String(version + 1),
      position: String(index + 1),
      // Without its number a row stops the import: its quote is unknown.
      ...Object.fromEntries(
        changes.filter(([column, text]) => column !== 'number' || cleanCell(text) !== ''),
      ),
    }
  })
  const first = collectRejectedRows()
  const format = { numbers: '.' } as const
  const result = await importQuotes(database.pool, quoteFile(...rows), { ...first, format })
  t.ok(result.rejected > 0)
  t.equal(parseRejectedRows(first.content()).length, result.rejected)
  t.ok(result.inserted > 0, `${result.inserted} quotes imported, ${result.rejected} rows rejected`)
  const again = await importQuotes(database.pool, quoteFile(...rows), {
    ...collectRejectedRows(),
    format,
  })
  t.match(
    again,
    { inserted: 0, updated: 0, unchanged: result.inserted, rejected: result.rejected },
    'a second import has the same result',
  )
})

t.test('two imports of the same quotes at the same time both succeed', async (t) => {
  const rows = Array.from({ length: 200 }, (_, index) => ({
    number: `Q-${index % 50}`,
    customer_name: `Customer ${index % 5}`,
  }))
  const both = await Promise.all([
    importQuotes(database.pool, quoteFile(...rows)),
    importQuotes(database.pool, quoteFile(...rows)),
  ])
  t.same(both.map(({ inserted, unchanged }) => [inserted, unchanged]).sort(), [
    [0, 50],
    [50, 0],
  ])
})

t.test(
  'fails with a clear error and imports nothing if another writer inserts the same quote',
  async (t) => {
    const { db, pool } = database
    const other = await pool.connect()
    await other.query(
      `begin;
      insert into quotes (number, status, currency, issued_on)
      values ('Q-1', 'sent', 'EUR', '2026-01-01')`,
    )
    const importing = importQuotes(pool, quoteFile({}, { number: 'Q-2' }))
    const failed = t.rejects(importing, {
      message: /Another program changed the same rows.*run it again/,
    })
    await eventually(() => isAnySessionWaiting(db), Boolean)
    await other.query('commit')
    other.release()
    await failed
    t.same(await readQuotes(database, 'number'), [{ number: 'Q-1' }])
  },
)

t.test('says that the migration is missing if the database lacks a language', async (t) => {
  const french = await database.db
    .deleteFrom('languages')
    .where('code', '=', 'fr')
    .returningAll()
    .execute()
  t.match(
    await readImportError(t, database, { language: 'fr' }),
    /The database lacks a language of this version .*\(fr\).*: run `make migrate`.* first\.$/,
  )
  await database.db
    .insertInto('languages')
    .values(
      french.map(({ tax_reasons, ...row }) => ({
        ...row,
        tax_reasons: JSON.stringify(tax_reasons),
      })),
    )
    .execute()
})
