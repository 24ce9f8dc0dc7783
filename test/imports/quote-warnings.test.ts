// Warnings of quote imports: what is imported, what they name, and what --strict rejects.
import t from 'tap'
import { describeSummary, exitStatusOf } from '../../scripts/cli/import-report.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { findUnprintable } from '../../src/quotes/pdf/pdf-text.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { collectRejectedRows, csvFile } from './import-files.ts'

const database = await testDatabase(t)
const { pool, db } = database
t.beforeEach(async () => {
  await db.deleteFrom('quotes').execute()
})

const header =
  'number,version,status,issued_on,currency,rate,position,sku,description,quantity,unit_price\n'
type Cells = {
  number?: string
  version?: number
  status?: string
  day?: string
  currency?: string
  rate?: string
  position?: string
  description?: string
}
const row = ({
  number = 'Q-1',
  version = 1,
  status = 'accepted',
  day = '2026-03-01',
  currency = 'EUR',
  rate = '',
  position = '',
  description = 'Tubo',
}: Cells = {}) =>
  `${number},${version},${status},${day},${currency},${rate},${position},A-1,${description},1,10\n`

const importRows = (...rows: Cells[]) =>
  importQuotes(pool, csvFile(header + rows.map(row).join('')))

t.test('a rate far from the median of its currency, or inverted, is a warning', async (t) => {
  const rates = ['0.90', '0.92', '0.94']
  await importRows(...rates.map((rate, index) => ({ number: `M-${index}`, currency: 'USD', rate })))
  const { warnings } = await importRows(
    { number: 'A', currency: 'USD', rate: '0.88' },
    { number: 'B', currency: 'USD', rate: '9.2' },
    { number: 'C', currency: 'USD', rate: '1.087' },
    { number: 'D', currency: 'USD', rate: '1' },
  )
  t.same(warnings, [
    {
      kind: 'unusual_rate',
      count: 2,
      examples: [
        'line 3: quote B has the rate 9.2 for USD, but the median of the last year is 0.92',
        'line 4: quote C has the rate 1.087 for USD, but the median of the last year is 0.92: ' +
          'it looks inverted (1/rate)',
      ],
    },
  ])
  const old = await importRows(
    { number: 'E', currency: 'USD', rate: '9.2', day: '2020-01-01' },
    { number: 'F', currency: 'USD', rate: '0.5', day: '2020-01-01' },
  )
  t.match(old.warnings, [{ count: 1, examples: [/9\.2 for USD, but roughly usual is 0\.9/] }])
})

t.test('an inverted rate in the first file of an empty database is a warning', async (t) => {
  const { warnings, inserted } = await importRows(
    { number: 'A', currency: 'JPY', rate: '162.5' },
    { number: 'B', currency: 'GBP', rate: '1.17' },
    { number: 'C', currency: 'ARS', rate: '0.001' },
  )
  t.equal(inserted, 3)
  t.match(warnings, [
    { kind: 'unusual_rate', count: 1, examples: [/162\.5 for JPY, .* it looks inverted/] },
  ])
})

t.test(
  'accepted quotes without a rate, identical lines and a second date are warnings',
  async (t) => {
    await importRows({ number: 'D', day: '2025-03-01' }, { number: 'V', day: '2026-02-01' })
    const { warnings } = await importRows(
      { number: 'A', currency: 'CHF' },
      { number: 'B', currency: 'CHF', status: 'rejected' },
      { number: 'C' },
      { number: 'C' },
      { number: 'P', position: '1' },
      { number: 'P', position: '2' },
      { number: 'P', position: '3', description: 'Codo' },
      { number: 'D', day: '2026-03-01' },
      { number: 'V', version: 2, day: '2026-01-01' },
    )
    t.same(warnings, [
      {
        kind: 'accepted_without_rate',
        count: 1,
        examples: ['line 2: quote A in CHF is accepted, but has no rate'],
      },
      {
        kind: 'identical_lines',
        count: 2,
        examples: [
          'line 4: quote C has 2 identical lines: Tubo',
          'line 6: quote P has 2 identical lines: Tubo',
        ],
      },
      {
        kind: 'two_dates',
        count: 2,
        examples: [
          'line 9: quote D version 1 is of 2026-03-01, but of 2025-03-01 in the database',
          'line 10: quote V version 2 is of 2026-01-01, but version 1 is of 2026-02-01',
        ],
      },
    ])
  },
)

t.test('an ordinary file has no warnings', async (t) => {
  const rows = [
    { number: 'A' },
    { number: 'A', description: 'Codo' },
    { number: 'B', currency: 'USD', rate: '0.9' },
    { number: 'B', version: 2, currency: 'USD', rate: '0.9', day: '2026-03-02' },
  ]
  t.same((await importRows(...rows)).warnings, [])
  t.same((await importRows(...rows)).warnings, [], 'nor has the same file again')
})

t.test('isStrict makes warnings an error, and imports nothing', async (t) => {
  await t.rejects(
    importQuotes(pool, csvFile(header + row({ currency: 'CHF' })), { isStrict: true }),
    { message: /--strict is set, so nothing was imported:\nwarning: 1 accepted quote without/ },
  )
  t.same(await db.selectFrom('quotes').selectAll().execute(), [])
})

t.test('the exit status tells warnings from rejected rows', async (t) => {
  const warned = await importRows({ currency: 'CHF' })
  t.equal(exitStatusOf(warned), 3)
  const describe = (changes: Partial<typeof warned>) =>
    describeSummary(
      'quotes',
      { ...warned, ...changes },
      { seconds: 1, rejectsFile: undefined, isDryRun: false },
    )
  t.match(
    describe({}),
    /\nwarning: 1 accepted quote without a rate.*:\n {2}line 2: quote Q-1 in CHF/,
  )
  t.match(
    describe({ read: 1, superseded: 1, customers: 1 }),
    /\n1 row read,.*\n1 older version is superseded now\.\n1 customer created\.\n/s,
  )
  t.match(
    describe({ read: 2, superseded: 2, customers: 1_000 }),
    /\n2 rows read,.*\n2 older versions are superseded now\.\n1,000 customers created\.\n/s,
  )
  const rejected = await importQuotes(
    pool,
    csvFile(header + row({ currency: 'CHF' }) + row({ number: 'B', currency: 'XXX' })),
    collectRejectedRows(),
  )
  t.equal(exitStatusOf(rejected), 4, 'rejected rows count more than warnings')
  t.equal(exitStatusOf(await importRows({})), 0)
})

t.test('what a customer would notice is a warning before the quote is sent', async (t) => {
  const columns =
    'number,status,issued_on,valid_until,country,currency,description,quantity,' +
    'unit,unit_price,tax_rate,tax_reason,default_tax_reason,kind'
  const rows = [
    'OK,sent,2026-03-01,2026-04-01,ES,EUR,Tubo,1,,10,21,,',
    'REASON,sent,2026-03-01,2026-04-01,ES,EUR,Tubo,1,,10,0,exempt,',
    'DEFAULT,sent,2026-03-01,2026-04-01,PT,EUR,Horas,1,HUR,10,0,,intra_community_service',
    'GOODS,sent,2026-03-01,2026-04-01,PT,EUR,Tubo,1,,10,0,,',
    'SERVICE,sent,2026-03-01,2026-04-01,PT,EUR,Horas,1,HUR,10,0,,',
    'PAST,accepted,2026-03-01,,PT,EUR,Horas,1,HUR,10,0,,',
    'OPEN,draft,2026-03-01,,ES,EUR,Tubo ✅,1,,10,21,,',
    'THAI,sent,2026-03-01,2026-04-01,ES,EUR,ค้อน,1,,10,21,,',
    'MINUS,sent,2026-03-01,2026-04-01,ES,EUR,A,1,,10,,,',
    'MINUS,sent,2026-03-01,2026-04-01,ES,EUR,B,1,,-10,21,,',
    'OPTIONS,sent,2026-03-01,2026-04-01,ES,EUR,Tubo,1,,10,21,,',
  ].map((row) => `${row},${row.startsWith('OPTIONS') ? 'optional' : ''}`)
  const { warnings } = await importQuotes(pool, csvFile([columns, ...rows, ''].join('\n')), {
    findUnprintable,
  })
  t.match(warnings, [
    {
      kind: 'zero_rate_without_reason',
      count: 1,
      examples: ['line 6: quote SERVICE, position 1, for PT'],
    },
    { kind: 'negative_total', count: 1, examples: ['line 10: quote MINUS, -2.10 EUR'] },
    { kind: 'without_lines', count: 1, examples: ['line 12: quote OPTIONS'] },
    { kind: 'valid_without_end', count: 1, examples: ['line 8: quote OPEN'] },
    { kind: 'not_printable', count: 1, examples: [/line 9: quote THAI: ค/] },
  ])
  t.equal(warnings.length, 5)
  await t.rejects(
    importQuotes(pool, csvFile(`${columns}\n${rows[4]}\n`), { isStrict: true }),
    /0 % tax and no tax_reason/,
  )
  for (const [cell, problem] of [
    ['exprot', /neither a sentence nor one of intra_community_goods/],
    ['export', /is given, but the tax_rate is 21/],
  ] as const)
    await t.rejects(
      importQuotes(pool, csvFile(`${columns}\nX,sent,2026-03-01,,ES,EUR,A,1,,1,21,${cell},,\n`)),
      problem,
    )
})
