// Measures the import of quotes and products, in lines per second and memory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type QuoteColumn, quoteColumns } from '../../src/imports/file-kinds.ts'
import { writeXlsx, type XlsxCell } from '../../test/imports/write-xlsx.ts'
import { mulberry32 } from './data/seeded-random.ts'
import { type Bar, type Bench, createDatabase, elapsedMs, root } from './harness.ts'

/** How a file writes its cells. */
type CellWriters = {
  delimiter: string
  number(text: string): string
  day(text: string): string
}
const english: CellWriters = { delimiter: ',', number: (text) => text, day: (text) => text }
const spanish: CellWriters = {
  delimiter: ';',
  number: (text) => text.replace('.', ','),
  day: (text) => text.split('-').reverse().join('/'),
}

/** The exit status of an import with warnings. */
const warnedStatus = 3
const seed = 1

/** A million lines need about 5 GB of disk space. */
export async function measure(bench: Bench): Promise<void> {
  const [lines, products] = [bench.size(1_000_000, 2_000), bench.size(50_000, 500)]
  const file = (name: string) => join(bench.directory, name)
  await pipeline(Readable.from(quoteLines(lines)), createWriteStream(file('quotes.csv')))
  await pipeline(
    createReadStream(file('quotes.csv'), 'utf8'),
    replaceText('ready to ship', 'made to order'),
    createWriteStream(file('changed.csv')),
  )
  // Latin-1 has the same bytes as Windows-1252 for the characters of this file.
  await pipeline(
    Readable.from(quoteLines(lines, spanish)),
    createWriteStream(file('spanish.csv'), 'latin1'),
  )
  await pipeline(Readable.from(quoteLines(lines / 10)), createWriteStream(file('tenth.csv')))
  await pipeline(Readable.from(productLines(products)), createWriteStream(file('products.csv')))
  const first = await createDatabase(bench, 'first_import')
  const second = await createDatabase(bench, 'second_import')
  const third = await createDatabase(bench, 'third_import')
  const run = async (
    what: string,
    { databaseUrl }: typeof first,
    args: string[],
    bar?: Bar,
    count = args[0] === 'quotes' ? lines : products,
  ) => {
    const ms = await elapsedMs(() => runImport(args, databaseUrl))
    const value = count / (ms / 1_000)
    bench.report({ what, value, unit: 'lines/s', ...(bar && { bar }) })
    return value
  }
  const inEnglish = await run(
    'quotes into an empty database',
    first,
    ['quotes', file('quotes.csv')],
    { atLeast: 20_000 },
  )
  const tenth = ['quotes', file('tenth.csv')]
  const ofTenth = await run('a tenth of them', third, tenth, undefined, lines / 10)
  // A check that reads all lines for each quote would make it a tenth.
  bench.report({
    what: 'all quotes, of the speed of a tenth',
    value: inEnglish / ofTenth,
    unit: '×',
    bar: { atLeast: 0.6 },
  })
  await run('the same file again', first, ['quotes', file('quotes.csv')])
  await run('every quote changed', first, ['quotes', file('changed.csv')])
  const inSpanish = await run('the same quotes as Spanish Excel writes them', second, [
    'quotes',
    file('spanish.csv'),
  ])
  bench.report({
    what: 'the Spanish form, of the English one',
    value: inSpanish / inEnglish,
    unit: '×',
    bar: { atLeast: 0.9 },
  })
  await run('products into an empty table', second, ['products', file('products.csv')])
  // At most three seconds.
  await run(
    'unchanged products, with --full',
    second,
    ['products', file('products.csv'), '--full'],
    { atLeast: products / 3 },
  )
  const rows = Array.from({ length: bench.size(100_000, 500) }, (_, row): XlsxCell[] => [
    ...[`SKU-${row}`, `Product ${row}`, `Made of steel, ${row} mm`, 'EUR'],
    { value: `${row % 900}.5` },
  ])
  const sheet = [['sku', 'name', 'description', 'currency', 'price'], ...rows]
  await writeFile(file('products.xlsx'), writeXlsx({ sheets: { sheet } }))
  const printed = await runImport(['products', file('products.xlsx')], third.databaseUrl)
  bench.report({
    what: `MB of memory for a workbook of ${rows.length} rows`,
    value: Number(/(\d+) MB of memory/.exec(printed)?.[1]),
    unit: '',
    bar: { atMost: 400 },
  })
}

/** Returns what the import prints. */
async function runImport(args: string[], url: string): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'scripts/import.ts'), ...args], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (status !== 0 && status !== warnedStatus) throw new Error(`The import ended with ${status}.`)
  return printed
}

function* productLines(products: number): Generator<string> {
  yield 'sku,name,description,category,brand,unit,price,currency,hs_code,origin_country,active\n'
  for (let product = 0; product < products; product++)
    yield `SKU-${product},Product ${product},"Made of steel, ${product} mm",` +
      `Category ${product % 90},Brand ${product % 40},C62,${product % 900}.50,EUR,820520,ES,true\n`
}

/** Realistic quotes: 5,000 customers, 4,000 products, five currencies, every status. */
function* quoteLines(
  lines: number,
  { delimiter, number, day }: CellWriters = english,
): Generator<string> {
  const next = mulberry32(seed)
  const below = (limit: number) => Math.floor(next() * limit)
  const oneOf = <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value
  const rates = { EUR: '1', USD: '0.92', GBP: '1.17', JPY: '0.0062', KWD: '3.01' }
  yield `${quoteColumns.join(delimiter)}\n`
  let left = lines
  for (let quote = 1; left > 0; quote++) {
    const customer = below(5_000)
    const status = oneOf(['draft', 'sent', 'accepted', 'accepted', 'rejected', 'expired'])
    const month = `202${below(6)}-${String(1 + below(12)).padStart(2, '0')}`
    const currency = oneOf(Object.keys(rates) as (keyof typeof rates)[])
    const head: Partial<Record<QuoteColumn, string>> = {
      number: `Q-${seed}-${quote}`,
      version: '1',
      status,
      issued_on: day(`${month}-0${1 + below(9)}`),
      valid_until: day('2030-01-31'),
      decided_on: /accepted|rejected/.test(status) ? day(`${month}-2${below(9)}`) : '',
      customer_name: `"Ferretería ${customer}, S.L."`,
      customer_tax_id: `B${10_000_000 + customer}`,
      customer_address: `"Calle Mayor ${customer}, 28001 Madrid"`,
      customer_contact: `Contacto ${customer}`,
      country: oneOf(['ES', 'ES', 'FR', 'DE', 'PT', 'JP', '']),
      currency,
      rate: number(rates[currency]),
      incoterm: 'FCA',
      incoterm_place: 'Valencia',
      delivery: '10 days after the order',
      payment_terms: '30 days net',
      language: oneOf(['es', 'en']),
      notes: 'Prices without transport',
      internal_notes: 'ready to ship',
    }
    let chunk = ''
    const count = Math.min(left, 1 + below(24))
    for (let position = 1; position <= count; position++, left--) {
      const product = below(4_000)
      const price = `${below(10_000)}.${String(below(10_000)).padStart(4, '0')}`
      const [tax = '', surcharge = ''] = oneOf([['21'], ['21', '5.2'], ['10'], ['4'], ['0']])
      const cells: Partial<Record<QuoteColumn, string>> = {
        ...head,
        position: String(position),
        sku: `SKU-${product}`,
        description: `"Product ${product}, ready to ship"`,
        quantity: String(1 + below(500)),
        unit: 'C62',
        unit_price: number(price),
        discount_percent: String(below(20)),
        tax_rate: tax,
        surcharge_rate: number(surcharge),
        hs_code: '820520',
        origin_country: oneOf(['ES', 'CN', 'IT', '']),
      }
      chunk += `${quoteColumns.map((column) => cells[column] ?? '').join(delimiter)}\n`
    }
    yield chunk
  }
}

/** A stream transform. A match may span two chunks. */
function replaceText(text: string, replacement: string) {
  return async function* (chunks: AsyncIterable<string>): AsyncGenerator<string> {
    let rest = ''
    for await (const chunk of chunks) {
      const replaced = (rest + chunk).replaceAll(text, replacement)
      rest = replaced.slice(-text.length)
      yield replaced.slice(0, -text.length)
    }
    yield rest
  }
}
