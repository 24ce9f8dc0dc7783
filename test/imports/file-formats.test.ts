// The formats of files: Spanish Excel, each option by itself, and what an error suggests.
// Slow: it starts the script for each format.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { formats, type ImportError } from '../../src/imports/file-format.ts'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { collectRejectedRows, csvFile, deleteProducts, readProducts } from './import-files.ts'
import { runScript } from './import-script.ts'

const database = await testDatabase(t)
const { importer } = database.roles
t.beforeEach(async () => {
  await deleteProducts(database)
  await database.db.deleteFrom('quotes').execute()
})

const spanishProducts =
  'sku;name;price;currency;;\r\nA;Cañón de 3 m;12,50;EUR;;\r\nB;"Tubo 5""; 2 €";1234,5;EUR;;\r\n'
const importedProducts = [
  { sku: 'A', name: 'Cañón de 3 m', price: '12.50' },
  { sku: 'B', name: 'Tubo 5"; 2 €', price: '1234.5' },
]

/** Windows-1252 has the euro sign at 0x80, where Latin-1 has a control character. */
const inWindows1252 = (content: string) => Buffer.from(content.replaceAll('€', '\u0080'), 'latin1')

t.test('--format es reads what Spanish Excel writes, in UTF-8 and Windows-1252', async (t) => {
  const files: Record<string, Buffer> = {
    'Windows-1252': inWindows1252(spanishProducts),
    'UTF-8': Buffer.from(spanishProducts),
    'UTF-8 with a mark': Buffer.from(`\ufeff${spanishProducts}`),
    'a line with the delimiter': inWindows1252(`sep=;\r\n${spanishProducts}`),
  }
  for (const [name, content] of Object.entries(files)) {
    await deleteProducts(database)
    // Chunks of one byte cut every character.
    const bytes = name === 'UTF-8' ? [...content].map((byte) => Buffer.from([byte])) : [content]
    async function* chunks() {
      yield* bytes
    }
    await importProducts(database.pool, chunks(), { format: formats.es })
    t.match(await readProducts(database), importedProducts, name)
  }
})

t.test('--format es reads days and decimal commas of quotes', async (t) => {
  const file =
    'number;status;issued_on;valid_until;decided_on;currency;rate;' +
    'description;quantity;unit_price;tax_rate\n' +
    'Q-1;accepted;1/3/2026;31/12/2026;2026-03-05;USD;0,92;Martillo;2,5;10,10;21,0\n' +
    'Q-1;accepted;01-03-2026;31.12.2026;5/3/2026 0:00;USD;0,92;Sierra;1;0,5;4\n'
  await importQuotes(database.pool, csvFile(file), { format: formats.es })
  const { rows } = await sql`
    select issued_on, valid_until, decided_on, rate, net, tax from quotes`.execute(database.db)
  t.match(rows, [
    {
      issued_on: '2026-03-01',
      valid_until: '2026-12-31',
      decided_on: '2026-03-05',
      rate: '0.92',
      net: '25.75',
      tax: '5.32',
    },
  ])
})

t.test('rejects numbers and days in a different form, and does not guess', async (t) => {
  const cases: [cells: string, problem: RegExp][] = [
    ['1.250', /price: "1\.250" is not a decimal number such as 1234,5/],
    ['1.250,50', /price: "1\.250,50" is not a decimal number/],
    ['-1,5', /price: "-1,5" must be 0 or more/],
  ]
  for (const [price, problem] of cases)
    await t.rejects(
      importProducts(database.pool, csvFile(`sku;name;price;currency\nA;Tubo;${price};EUR\n`), {
        format: formats.es,
      }),
      { message: problem },
    )
  for (const [day, problem] of Object.entries({
    '31/02/2026': /"31\/02\/2026" is a day that does not exist/,
    '31/12/26': /"31\/12\/26" is not a date such as 31\/12\/2026/,
    '12/31/2026': /"12\/31\/2026" is a day that does not exist/,
  }))
    await t.rejects(
      importQuotes(
        database.pool,
        csvFile(
          'number;status;issued_on;currency;description;quantity;unit_price\n' +
            `Q;sent;${day};EUR;Tubo;1;1\n`,
        ),
        { format: formats.es },
      ),
      { message: problem },
    )
})

t.test(
  'writes rejected rows in the format of the file, so that they can be imported',
  async (t) => {
    const file =
      'number;status;issued_on;currency;description;quantity;unit_price\n' +
      'Q-1;sent;31/12/2026;EUR;Cañón;2,5;1.250\nQ-1;sent;31/12/2026;EUR;"Uno; dos";1;0,5\n'
    const rejected = collectRejectedRows()
    const options = { format: formats.es }
    t.match(
      await importQuotes(database.pool, csvFile(inWindows1252(file)), { ...options, ...rejected }),
      {
        rejected: 2,
      },
    )
    const content = rejected.content()
    t.match(content, /;31\/12\/2026;EUR;Cañón;2,5;1\.250\n/, 'the invalid cell stays as written')
    t.match(content, /;31\/12\/2026;EUR;"Uno; dos";1;0,5\n/)
    const corrected = content.replaceAll('1.250', '1250')
    t.match(await importQuotes(database.pool, csvFile(corrected), options), { inserted: 1 })
    t.match(
      (await sql`select net from quotes`.execute(database.db)).rows,
      [{ net: '3125.50' }],
      'the mark at the start says that the file is UTF-8',
    )
  },
)

t.test('repeats the line that names the delimiter in the rejected rows', async (t) => {
  const rejected = collectRejectedRows()
  const options = { format: { ...formats.en, encoding: 'auto' as const } }
  const file = 'sep=;\nsku;name\nA;\n'
  t.match(await importProducts(database.pool, csvFile(file), { ...options, ...rejected }), {
    rejected: 1,
  })
  t.equal(rejected.content(), '\ufeffsep=;\nline;reason;sku;name\n3;name: is missing;A;\n')
  const corrected = rejected.content().replace('A;', 'A;Tubo')
  t.match(await importProducts(database.pool, csvFile(corrected), options), { inserted: 1 })
})

t.test('the first error shows the whole command that would import the file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'import-format-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const quoteHeader = 'number,status,issued_on,currency,description,quantity,unit_price\n'
  const cases: [name: string, kind: string, content: string | Buffer, options: string[]][] = [
    ['spanish.csv', 'products', inWindows1252(spanishProducts), ['--format', 'es']],
    ['utf-8.csv', 'products', spanishProducts, ['--format', 'es']],
    ['with space.csv', 'products', `sep=;\n${spanishProducts}`, ['--format', 'es']],
    [
      'late-accent.csv',
      'products',
      inWindows1252(`sku;name\n${'A;Tubo\n'.repeat(20_000)}B;Cañón\n`),
      ['--format', 'es'],
    ],
    [
      'point.csv',
      'products',
      'sku;name;price;currency\nA;Tubo;1.50;EUR\n',
      ['--delimiter', 'semicolon'],
    ],
    ['tabs.csv', 'products', 'sku\tname\nA\tTubo\n', ['--delimiter', 'tab']],
    ['latin.csv', 'products', inWindows1252('sku,name\nA,Cañón\n'), ['--encoding', 'windows-1252']],
    [
      'late-latin.csv',
      'products',
      inWindows1252(`sku,name\n${'A,Tubo\n'.repeat(20_000)}B,Cañón\n`),
      ['--encoding', 'windows-1252'],
    ],
    ['days.csv', 'quotes', `${quoteHeader}Q,sent,31/12/2026,EUR,Tubo,1,1\n`, ['--dates', 'dmy']],
    [
      'american.csv',
      'quotes',
      `${quoteHeader}Q,sent,12/31/2026,EUR,Tubo,1,"1,5"\n`,
      ['--decimal', 'comma', '--dates', 'mdy'],
    ],
  ]
  for (const [name, kind, content, options] of cases) {
    const file = join(folder, name)
    await writeFile(file, content)
    const failed = await runScript([kind, file, '--json'], importer)
    const shown = file.includes(' ') ? `'${file}'` : file
    const command = `scripts/run import ${kind} ${shown} --json ${options.join(' ')}\n`
    t.match(failed, { status: 1, stdout: '' }, name)
    t.ok(failed.stderr.endsWith(command), failed.stderr)
    if (!name.startsWith('late')) {
      const imported = await runScript([kind, file, ...options, '--json'], importer)
      t.match(imported, { status: 0 }, imported.stderr)
    }
  }
  await writeFile(join(folder, 'valid.csv'), 'sku,name\nA,\n')
  t.notMatch(
    (await runScript(['products', join(folder, 'valid.csv')], importer)).stderr,
    /scripts\/run/,
  )
})

t.test('does not take a point that may separate thousands for a decimal point', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'import-format-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'thousands.csv')
  await writeFile(file, 'sku;name;price;currency\nA;B;1.250;EUR\n')
  const failed = await runScript(['products', file], importer)
  t.ok(failed.stderr.endsWith(`scripts/run import products ${file} --format es\n`), failed.stderr)
  const again = await runScript(['products', file, '--format', 'es'], importer)
  t.match(again, { status: 1, stderr: /price.*1\.250/ }, 'neither 1.25 nor 1250 is guessed')
})

t.test('does not take a comma that may separate thousands for a decimal comma', async (t) => {
  const readSuggestion = async (prices: string[]) => {
    const rows = prices.map((price, index) => `S${index},Tubo,"${price}",EUR\n`)
    const importing = importProducts(
      database.pool,
      csvFile(`sku,name,price,currency\n${rows.join('')}`),
    )
    return importing.then(
      () => t.fail('was imported'),
      ({ suggestedFormat }: ImportError) => suggestedFormat,
    )
  }
  t.equal(await readSuggestion(['1,250', '12,500']), undefined)
  t.match(await readSuggestion(['1,250', '12,5']), { decimal: ',' })
  t.match(await readSuggestion(['0,250']), { decimal: ',' })
})

t.test('suggests an order of dates only for dates that it reads, and explains it', async (t) => {
  const readSuggestion = async (...days: string[]) => {
    const rows = days.map((day, index) => `Q-${index},sent,${day},EUR,Tubo,1,1\n`).join('')
    const header = 'number,status,issued_on,currency,description,quantity,unit_price\n'
    return (await runScript(['quotes', '-'], importer, header + rows)).stderr
  }
  t.notMatch(await readSuggestion('31/12/2026 14:30'), /scripts\/run/)
  t.match(
    await readSuggestion('05/05/2026', '03/04/2026'),
    /--dates dmy\n03\/04\/2026 is read as 3 April; use --dates mdy if it is March 4\.\n$/,
  )
  t.match(await readSuggestion('03/04/2026', '13/04/2026'), /--dates dmy\n$/)
  t.match(await readSuggestion('03/04/2026', '04/13/2026'), /--dates mdy\n$/)
})

t.test('names the option that does not fit the file', async (t) => {
  const cases: [args: string[], message: RegExp][] = [
    [['--format', 'fr'], /--format fr is not known: use en or es/],
    [['--delimiter', 'x'], /use comma, semicolon, tab, bar/],
    [['--decimal', '.,'], /use point, comma/],
    [['--encoding', 'latin9'], /use utf-8, windows-1252, auto/],
    [['--allow-removals', '20%'], /needs --full/],
    [['--full', '--allow-removals', '120%'], /not a percentage/],
    [['--from', '2026-01-01'], /belong to quotes/],
  ]
  const results = await Promise.all(
    cases.map(([args]) => runScript(['products', '-', ...args], importer)),
  )
  for (const [index, [args, stderr]] of cases.entries())
    t.match(results[index], { status: 2, stderr }, args.join(' '))
  t.match(await runScript(['quotes', '-', '--full'], importer), {
    status: 2,
    stderr: /--from DAY --to DAY/,
  })
})

t.test('rejects a mixture of encodings in a large file, and suggests no format', async (t) => {
  const ascii = 'A,Tubo\n'.repeat(20_000)
  const utf8 = Buffer.from('B,Cañón\n')
  const windows1252 = inWindows1252('C,Cañón\n')
  const header = Buffer.from(`sku,name\n${ascii}`)
  const isMixed = (before: Buffer, after: Buffer) => [header, before, Buffer.from(ascii), after]
  const cases: [name: string, parts: Buffer[], encoding: 'auto' | 'utf-8', message: RegExp][] = [
    ['UTF-8 last', isMixed(windows1252, utf8), 'auto', /^Line 40003 is UTF-8, but .* Windows-1252/],
    [
      'Windows-1252 last',
      isMixed(utf8, windows1252),
      'auto',
      /^Line 40003 is not UTF-8, but other/,
    ],
    ['as UTF-8', isMixed(utf8, windows1252), 'utf-8', /^Line 40003 is not UTF-8, but other/],
  ]
  for (const [name, parts, encoding, message] of cases) {
    // In chunks as a file is read, so that the two encodings are not in the same chunk.
    const bytes = Buffer.concat(parts)
    async function* read() {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
    }
    const importing = importProducts(database.pool, read(), {
      format: { ...formats.en, encoding },
    })
    await t.rejects(importing, { message, suggestedFormat: undefined }, name)
  }
  const explicit = { format: { ...formats.en, encoding: 'windows-1252' as const } }
  const content = Buffer.concat([Buffer.from('sku,name\n'), windows1252, utf8])
  t.match(await importProducts(database.pool, csvFile(content), explicit), { inserted: 2 })
})

t.test('finds out the encoding, and rejects a mixture', async (t) => {
  const options = { format: { ...formats.en, encoding: 'auto' as const } }
  const damaged = Buffer.concat([Buffer.from('sku,name\nA,ñá\nB,'), Buffer.from([0xf1, 0x0a])])
  const errors: [content: Buffer, message: RegExp][] = [
    [damaged, /Line 3 is not UTF-8, but other characters of the file are/],
    [Buffer.from('sku,name\nA,ñ \x81\n', 'latin1'), /Line 2 has the byte 0x81/],
  ]
  for (const [content, message] of errors)
    await t.rejects(importProducts(database.pool, csvFile(content), options), { message })
  await t.rejects(importProducts(database.pool, csvFile(damaged)), {
    message: /Line 3 is not UTF-8/,
    suggestedFormat: undefined,
  })
  await importProducts(
    database.pool,
    csvFile(
      inWindows1252(
        'sku,name\nA,“€” – ñ\n'.replace('“', '\x93').replace('”', '\x94').replace('–', '\x96'),
      ),
    ),
    options,
  )
  t.match(await readProducts(database), [{ name: '“€” – ñ' }])
})
