// The forms of files: encoding, delimiter, numbers and dates are found out from the whole file.
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { type FileFormat, formatWords } from '../../src/imports/file-format.ts'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { collectRejectedRows, csvFile, deleteProducts, readProducts } from './import-files.ts'
import { runScript } from './import-script.ts'

const database = await testDatabase(t)
const { pool } = database
const { importer } = database.roles
t.beforeEach(async () => {
  await deleteProducts(database)
  await database.db.deleteFrom('quotes').execute()
})

/** Windows-1252 has the euro sign at 0x80, where Latin-1 has a control character. */
const inWindows1252 = (content: string) => Buffer.from(content.replaceAll('€', '\u0080'), 'latin1')
const inUtf16 = (content: string) => Buffer.from(`\ufeff${content}`, 'utf16le')

t.test('finds out the encoding and the delimiter, and says so', async (t) => {
  const spanish =
    'sku;name;price;currency;;\r\nA;Cañón de 3 m;12,50;EUR;;\r\n' +
    'B;"Tubo 5""; 2 €";1234,5;EUR;;\r\n'
  const expected = [
    { sku: 'A', name: 'Cañón de 3 m', price: '12.50' },
    { sku: 'B', name: 'Tubo 5"; 2 €', price: '1234.5' },
  ]
  const semicolons = 'cells separated by semicolons; decimal comma'
  const files: [content: Buffer, readAs: string][] = [
    [inWindows1252(spanish), `Windows-1252; ${semicolons}`],
    [Buffer.from(spanish), `UTF-8; ${semicolons}`],
    [Buffer.from(`\ufeff${spanish}`), `UTF-8; ${semicolons}`],
    [inWindows1252(`sep=;\r\n${spanish}`), `Windows-1252; ${semicolons}`],
    [
      inUtf16(spanish.replaceAll(';', '\t').replace('\t 2', '; 2')),
      'UTF-16; cells separated by tabs',
    ],
    [inUtf16(spanish).swap16(), 'UTF-16; cells separated by semicolons'],
    [Buffer.from(spanish.replaceAll(/;(?! )/g, '|')), 'UTF-8; cells separated by bars'],
  ]
  for (const [content, readAs] of files) {
    await deleteProducts(database)
    // Chunks of one byte cut every character.
    async function* chunks() {
      for (const byte of content) yield Buffer.from([byte])
    }
    const summary = await importProducts(pool, chunks())
    t.ok(summary.readAs.startsWith(readAs), summary.readAs)
    t.match(await readProducts(database), expected, readAs)
  }
})

type NumberCase = [prices: string[], result: string[] | RegExp, numbers?: FileFormat['numbers']]

t.test('reads numbers as the file writes them, and never guesses', async (t) => {
  const cases: NumberCase[] = [
    [['1.50', '.5000', '-0'], /line 4: price/],
    [
      ['1.50', '.5000', '12'],
      ['1.50', '0.5000', '12'],
    ],
    [
      ['1.234,50', '167', '1.711'],
      ['1234.50', '167', '1711'],
    ],
    [
      ['1,234.50', '1,711'],
      ['1234.50', '1711'],
    ],
    [
      ['1.234.567', '1.711'],
      ['1234567', '1711'],
    ],
    [
      ['1 234,5', '1 711'],
      ['1234.5', '1711'],
    ],
    [
      ["1'234.50", '2'],
      ['1234.50', '2'],
    ],
    [
      ['0.250', '1.250'],
      ['0.250', '1.250'],
    ],
    [
      ['1234.500', '1.250'],
      ['1234.500', '1.250'],
    ],
    [
      ['€ 1.234,50', '€12,5'],
      ['1234.50', '12.5'],
    ],
    [
      ['1.50 EUR', '3 EUR'],
      ['1.50', '3'],
    ],
    // The third cell may be 1711 or 1.711.
    [
      ['167', '2', '1.711'],
      /^price "1\.711" on line 4 may be 1\.711 or 1711, .*--numbers point reads 1\.711, --numbers comma reads 1711/,
    ],
    [['1,711'], /^price "1,711" on line 2 may be 1711 or 1\.711, .*--numbers point reads 1711/],
    [['167', '1.711'], ['167', '1711'], ','],
    [['167', '1.711'], ['167', '1.711'], '.'],
    [['12.5', '7', '12,5'], /two ways: price "12\.5" on line 2, but price "12,5" on line 4/],
    [['1 €', '2 $'], /price "2 \$" on line 3 has another sign than price "1 €" on line 2/],
    [['1 USD'], /price "1 USD" on line 2 is not in the currency "EUR" of its row/],
    [['12.5'], /price: "12\.5" is not a number with a decimal comma/, ','],
    [['1.5', '15 %'], /price: "15 %" is not a number/],
    [['1.5E+03'], /price: "1\.5E\+03" is not a number/],
    [['12.34.5'], /price: "12\.34\.5" is not a number/],
  ]
  for (const [prices, result, numbers] of cases) {
    await deleteProducts(database)
    const rows = prices.map((price, index) => `S${index};Tubo;${price};EUR\n`)
    const importing = importProducts(pool, csvFile(`sku;name;price;currency\n${rows.join('')}`), {
      format: numbers ? { numbers } : {},
    })
    if (result instanceof RegExp) await t.rejects(importing, { message: result }, prices.join(' '))
    else {
      await importing
      const found = (await readProducts(database)).map(({ price }) => price)
      t.same(found, result, prices.join(' '))
    }
  }
})

const quoteHeader = 'number;status;issued_on;currency;description;quantity;unit_price;tax_rate\n'

t.test('reads dates in the order that the file shows', async (t) => {
  const cases: [days: string[], result: string[] | RegExp, dates?: FileFormat['dates']][] = [
    [
      ['1/3/2026', '31.12.2026', '2026-03-05'],
      ['2026-03-01', '2026-12-31', '2026-03-05'],
    ],
    [
      ['03/04/2026', '13/04/2026 0:00'],
      ['2026-04-03', '2026-04-13'],
    ],
    [
      ['03/04/2026', '04/13/2026'],
      ['2026-03-04', '2026-04-13'],
    ],
    [
      ['2025-12-31 00:00:00', '2026/1/2', '05/05/2026'],
      ['2025-12-31', '2026-01-02', '2026-05-05'],
    ],
    [
      ['05/05/2026', '03/04/2026'],
      /issued_on "03\/04\/2026" on line 3 may be 2026-04-03 or 2026-03-04/,
    ],
    [['31.12.2026'], /"31\.12\.2026" is not a date such as 12\/31\/2026/, 'mdy'],
    [['03/04/2026'], ['2026-03-04'], 'mdy'],
    [['13/04/2026', '04/13/2026'], /two ways: issued_on "13\/04\/2026" on line 2, but issued_on/],
    [['31/02/2026'], /"31\/02\/2026" is a day that does not exist/],
    [['31/12/26'], /"31\/12\/26" is not a date such as 2026-12-31/],
    [['31/12/2026 14:30'], /"31\/12\/2026 14:30" is not a date/],
  ]
  for (const [days, result, dates] of cases) {
    await database.db.deleteFrom('quotes').execute()
    const rows = days.map((day, index) => `Q-${index};SENT;${day};eur;Tubo;1;1;21 %\n`)
    const importing = importQuotes(pool, csvFile(quoteHeader + rows.join('')), {
      format: dates ? { dates } : {},
    })
    if (result instanceof RegExp) await t.rejects(importing, { message: result }, days.join(' '))
    else {
      await importing
      const found = await sql<{ issued_on: string }>`
        select issued_on from quotes order by number`.execute(database.db)
      t.same(
        found.rows.map(({ issued_on }) => issued_on),
        result,
        days.join(' '),
      )
    }
  }
})

t.test('reads back what is written in any form', async (t) => {
  const price = fc.tuple(fc.integer({ min: 0, max: 9_999_999 }), fc.integer({ min: 0, max: 9_999 }))
  const name = fc.string({
    unit: fc.constantFrom(...'abñÉü€;,|\t"\n 1'),
    minLength: 1,
    maxLength: 12,
  })
  const form = fc.record({
    encoding: fc.constantFrom('utf-8', 'windows-1252', 'utf-16le'),
    delimiter: fc.constantFrom(...Object.values(formatWords.delimiter)),
    numbers: fc.constantFrom('.', ','),
    hasGroups: fc.boolean(),
    sign: fc.constantFrom('', ' €', ' EUR'),
    lineEnd: fc.constantFrom('\n', '\r\n'),
  })
  const table = fc.array(fc.tuple(name, price), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(table, form, async (rows, form) => {
      await deleteProducts(database)
      const { encoding, delimiter, numbers, hasGroups, sign, lineEnd } = form
      const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
      const amount = ([whole, decimals]: [number, number]) => {
        const group = numbers === '.' ? ',' : '.'
        const text = hasGroups ? String(whole).replace(/\B(?=(\d{3})+$)/g, group) : String(whole)
        return `${text}${numbers}${String(decimals).padStart(4, '0')}${sign}`
      }
      const lines = rows.map(([name, price], index) =>
        [`S${index}`, quote(`x${name}x`), quote(amount(price)), 'EUR'].join(delimiter),
      )
      const text = [
        ['Código', 'Descripción', 'PRECIO', 'Moneda'].join(delimiter),
        ...lines,
        '',
      ].join(lineEnd)
      const content =
        encoding === 'utf-16le'
          ? inUtf16(text)
          : encoding === 'utf-8'
            ? Buffer.from(text)
            : inWindows1252(text)
      await importProducts(pool, csvFile(content))
      t.same(
        (await readProducts(database)).map(({ sku, name, price }) => [sku, name, price]),
        rows.map(([name, [whole, decimals]], index) => [
          `S${index}`,
          `x${name}x`.replace(/ {2,}/g, ' '),
          `${whole}.${String(decimals).padStart(4, '0')}`,
        ]),
        JSON.stringify(form),
      )
    }),
    { seed: 4243, numRuns: 60 },
  )
})

t.test('writes rejected rows in the form of the file, so that they can be imported', async (t) => {
  const file =
    `${quoteHeader}Q-1;sent;31/12/2026;EUR;Cañón;2,5;x;21\n` +
    'Q-1;sent;31/12/2026;EUR;"Uno; dos";1;0,5;21\n'
  const rejected = collectRejectedRows()
  t.match(await importQuotes(pool, csvFile(inWindows1252(file)), rejected), { rejected: 2 })
  const content = rejected.content()
  t.match(content, /;31\/12\/2026;EUR;Cañón;2,5;x;21\n/, 'the invalid cell stays as written')
  t.match(content, /;31\/12\/2026;EUR;"Uno; dos";1;0,5;21\n/)
  const corrected = content.replaceAll(';x;', ';1250;')
  t.match(await importQuotes(pool, csvFile(corrected)), { inserted: 1 })
  t.match((await sql`select net from quotes`.execute(database.db)).rows, [{ net: '3125.50' }])
})

t.test('repeats the line that names the delimiter in the rejected rows', async (t) => {
  const rejected = collectRejectedRows()
  const file = inWindows1252('sep=;\nsku;name\nA;\nÑ;\n')
  t.match(await importProducts(pool, csvFile(file), rejected), { rejected: 2 })
  t.equal(
    rejected.content(),
    '\ufeffsep=;\nline;reason;sku;name\n3;name: is missing;A;\n4;name: is missing;Ñ;\n',
  )
  const corrected = rejected.content().replaceAll(/(?<=[AÑ]);$/gm, ';Tubo')
  t.match(await importProducts(pool, csvFile(corrected)), { inserted: 2 })
})

t.test('rejects a mixture of encodings in a large file, and names both lines', async (t) => {
  const ascii = 'A,Tubo\n'.repeat(20_000)
  const utf8 = Buffer.from('B,Cañón\n')
  const windows1252 = inWindows1252('C,Cañón\n')
  const header = Buffer.from(`sku,name\n${ascii}`)
  const mix = (before: Buffer, after: Buffer) =>
    Buffer.concat([header, before, Buffer.from(ascii), after])
  const cases: [content: Buffer, message: RegExp, encoding?: FileFormat['encoding']][] = [
    [mix(windows1252, utf8), /^Line 20002 is not UTF-8, but line 40003 is: the file mixes/],
    [mix(utf8, windows1252), /^Line 40003 is not UTF-8, but line 20002 is: the file mixes/],
    [mix(utf8, windows1252), /^Line 40003 is not UTF-8, but --encoding says so/, 'utf-8'],
    [inWindows1252('sku,name\nA,ñ \x81\n'), /Line 2 has the byte 0x81/],
    [
      Buffer.concat([Buffer.from('\ufeffsku,name\n'), windows1252]),
      /^Line 2 is not UTF-8, but the mark/,
    ],
    [Buffer.from('sku,name\nA,Ca\ufffdón\n'), /line 2: name: "Ca�ón" has the sign � for a lost/],
  ]
  for (const [content, message, encoding] of cases) {
    // In chunks as a file is read, so that the two encodings are not in the same chunk.
    async function* read() {
      for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536)
    }
    const importing = importProducts(pool, read(), { format: encoding ? { encoding } : {} })
    await t.rejects(importing, { message }, String(message))
  }
  const content = Buffer.concat([Buffer.from('sku,name\n'), windows1252, utf8])
  t.match(
    await importProducts(pool, csvFile(content), { format: { encoding: 'windows-1252' } }),
    { inserted: 2 },
    'an option overrides what is found',
  )
  await deleteProducts(database)
  const marks = 'sku,name\nA,“€” – ñ\n'
  const bytes = inWindows1252(marks.replace('“', '\x93').replace('”', '\x94').replace('–', '\x96'))
  await importProducts(pool, csvFile(bytes))
  t.match(await readProducts(database), [{ name: '“€” – ñ' }])
})

t.test('names the option that does not fit', async (t) => {
  const cases: [args: string[], message: RegExp][] = [
    [['--delimiter', 'x'], /use comma, semicolon, tab, bar/],
    [['--numbers', '.,'], /use point, comma/],
    [['--encoding', 'latin9'], /use utf-8, windows-1252/],
    [['--map', 'Ref'], /--map Ref is not of the form --map "NAME IN THE FILE=column"/],
    [['--map', 'Ref=code'], /There is no column code of products: use one of sku, name/],
    [['--set', 'active'], /--set active is not of the form --set column=VALUE/],
    [['--allow-removals', '20%'], /needs --full/],
    [['--full', '--allow-removals', '120%'], /not a percentage/],
    [['--from', '2026-01-01'], /belong to quotes/],
    [['--format', 'es'], /Unknown option '--format'/],
  ]
  for (const [args, stderr] of cases)
    t.match(await runScript(['products', '-', ...args], importer), { status: 2, stderr })
  t.match(await runScript(['quotes', '-', '--full'], importer), {
    status: 2,
    stderr: /--from DAY --to DAY/,
  })
})
