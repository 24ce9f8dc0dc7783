// Measures the import of quotes and products, in lines per second and memory, on a PostgreSQL with
// default settings.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import { readCompany } from '../../src/company/company-file.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { quoteColumns } from '../../src/imports/file-kinds.ts'
import { runCommand, UsageError } from '../cli/command.ts'
import { startPostgres } from '../servers/postgres.ts'
import { mulberry32 } from './support/data/seeded-random.ts'

const help = `
Usage: node scripts/bench/import.ts [--lines N] [--products N] [--seed N]

Generates a CSV file of N quote lines in all columns, in quotes of 1 to 24 lines, starts PostgreSQL
in a temporary directory, and runs scripts/import.ts: into an empty database, with the same file
again, with a change in every quote, and with the same quotes as Spanish Excel writes them into
another empty database. Then it imports N products, and twice the same file again with --full. Each
run prints its own numbers. The memory is the maximum resident size of the importing process. A
million lines need about 5 GB of disk space.

  --lines N     number of lines. Default: 1000000
  --products N  number of products. Default: 50000
  --seed N      the same seed generates the same file. Default: 1
`

const root = join(import.meta.dirname, '../..')

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

await runCommand(
  help,
  {
    lines: { type: 'string', default: '1000000' },
    products: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '1' },
  },
  async (values) => {
    const lines = parsePositiveInteger('--lines', values.lines)
    const products = parsePositiveInteger('--products', values.products)
    const seed = parsePositiveInteger('--seed', values.seed)
    const directory = await mkdtemp(join(tmpdir(), 'import-bench-'))
    // As root PostgreSQL runs under another account, which must be able to enter.
    await chmod(directory, 0o755)
    try {
      return await measure(directory, lines, products, seed)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  },
)

async function measure(
  directory: string,
  lines: number,
  products: number,
  seed: number,
): Promise<number> {
  console.log(
    `${lines.toLocaleString('en')} quote lines, seed ${seed}; ` +
      `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`,
  )
  const file = (name: string) => join(directory, name)
  await pipeline(Readable.from(quoteLines(lines, seed)), createWriteStream(file('quotes.csv')))
  await pipeline(
    createReadStream(file('quotes.csv'), 'utf8'),
    replaceText('ready to ship', 'made to order'),
    createWriteStream(file('changed.csv')),
  )
  // Latin-1 has the same bytes as Windows-1252 for the characters of this file.
  await pipeline(
    Readable.from(quoteLines(lines, seed, spanish)),
    createWriteStream(file('spanish.csv'), 'latin1'),
  )
  await pipeline(Readable.from(productLines(products)), createWriteStream(file('products.csv')))
  console.log(`The file has ${Math.round((await stat(file('quotes.csv'))).size / 1e6)} MB.`)
  const runs: [name: string, database: string, args: string[]][] = [
    ['into an empty database', 'first', ['quotes', file('quotes.csv')]],
    ['the same file again', 'first', ['quotes', file('quotes.csv')]],
    ['every quote changed', 'first', ['quotes', file('changed.csv')]],
    ['the Spanish form into an empty database', 'second', ['quotes', file('spanish.csv')]],
    ['products into an empty table', 'second', ['products', file('products.csv')]],
    ['the same products, full', 'second', ['products', file('products.csv'), '--full']],
    ['the same products, full', 'second', ['products', file('products.csv'), '--full']],
  ]
  const server = await startPostgres({ directory: file('postgres') })
  try {
    const urls: Record<string, string> = {
      first: server.url,
      second: await createDatabase(server.url, 'second'),
    }
    for (const url of Object.values(urls)) await prepareDatabase(url)
    for (const [name, database, args] of runs) {
      console.log(`\n${name}:`)
      const status = await runImport(args, urls[database] ?? '')
      if (status !== 0 && status !== warnedStatus) return 1
    }
    return 0
  } finally {
    await server.stop()
  }
}

async function createDatabase(url: string, name: string): Promise<string> {
  const db = openDatabase(url, { connections: 1 })
  try {
    await sql`create database ${sql.id(name)}`.execute(db)
  } finally {
    await db.destroy()
  }
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

async function prepareDatabase(url: string): Promise<void> {
  const db = openDatabase(url, { connections: 2 })
  try {
    await migrate(db)
    await recordCompany(db, readCompany(join(root, 'company.example.json')))
  } finally {
    await db.destroy()
  }
}

async function runImport(args: string[], url: string): Promise<number | null> {
  const child = spawn(process.execPath, [join(root, 'scripts/import.ts'), ...args], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: 'inherit',
  })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status
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
  seed: number,
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
    const head = [
      `Q-${seed}-${quote}`,
      '1',
      status,
      day(`${month}-0${1 + below(9)}`),
      day('2030-01-31'),
      status === 'accepted' || status === 'rejected' ? day(`${month}-2${below(9)}`) : '',
      `"Ferretería ${customer}, S.L."`,
      `B${10_000_000 + customer}`,
      `"Calle Mayor ${customer}, 28001 Madrid"`,
      `Contacto ${customer}`,
      oneOf(['ES', 'ES', 'FR', 'DE', 'PT', 'JP', '']),
      currency,
      number(rates[currency]),
      'FCA',
      'Valencia',
      '10 days after the order',
      '30 days net',
      oneOf(['es', 'en']),
      '',
      'Prices without transport',
      'ready to ship',
    ].join(delimiter)
    let chunk = ''
    for (
      let position = 1, count = Math.min(left, 1 + below(24));
      position <= count;
      position++, left--
    ) {
      const product = below(4_000)
      const price = `${below(10_000)}.${String(below(10_000)).padStart(4, '0')}`
      const [tax = '', surcharge = ''] = oneOf([['21'], ['21', '5.2'], ['10'], ['4'], ['0']])
      const cells = [
        position,
        `SKU-${product}`,
        `"Product ${product}, ready to ship"`,
        1 + below(500),
        'C62',
        number(price),
        below(20),
        tax,
        number(surcharge),
        '820520',
        oneOf(['ES', 'CN', 'IT', '']),
      ]
      chunk += `${[head, ...cells].join(delimiter)}\n`
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

function parsePositiveInteger(name: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new UsageError(`${name} ${text} is not a positive whole number.`)
  return Number(text)
}
