// Measures quote links: throughput against a naked route in the same run, PDFs, other requests meanwhile, and how alike the 404s are in time.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { parse } from 'csv-parse'
import { sql } from 'kysely'
import { readCompany, recordCompany } from '../../src/company.ts'
import { type Database, openDatabase } from '../../src/connections.ts'
import { migrate } from '../../src/database/migrate.ts'
import { pdfPress } from '../../src/quotes/pdf.ts'
import { hashToken, shareQuote } from '../../src/quotes/share.ts'
import { searchKey } from '../../src/search/engine-keys.ts'
import { runCommand } from '../command.ts'
import { startServers } from '../test-servers.ts'

const help = `
Usage: node scripts/bench/share.ts [--seconds N] [--rounds N]

Starts its own servers, the API and a naked Fastify route that does the same indexed read and sends the same bytes, and compares them in turns:

  JSON and HTML   requests per second, as a share of the naked route's (wanted: 0.85 and 0.7)
  PDF             time to set one page, and the demo's invoice 573585 with its 1,114 lines; nothing is taken from memory
  meanwhile       how long other requests take while the large one is set
  404             how long unknown, malformed and draft links take

  --seconds  of load in each turn. Default: 4
  --rounds   turns of each. Default: 3
`
const root = join(import.meta.dirname, '../..')
const largeInvoice = '573585'
const children: ChildProcess[] = []

await runCommand(help, { seconds: { type: 'string', default: '4' }, rounds: { type: 'string', default: '3' } }, async (values) => {
  const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
  const stopEarly = () => process.exit(130)
  process.once('SIGINT', stopEarly)
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL')
  })
  const servers = await startServers(directory, 1)
  try {
    const db = openDatabase(servers.databaseUrl)
    await migrate(db)
    await recordCompany(db, readCompany(join(root, 'company.example.json')))
    console.log('Making quotes ...')
    const small = await makeLink(db, 'SMALL', exampleLines(12))
    const draft = await makeLink(db, 'DRAFT', exampleLines(12))
    await db.updateTable('quotes').set({ status: 'draft' }).where('number', '=', 'DRAFT').execute()
    const large = await makeLink(db, largeInvoice, await invoiceLines(largeInvoice))
    const onePagers: string[] = []
    for (let n = 0; n < 60; n += 1) onePagers.push(await makeLink(db, `ONE-${n}`, exampleLines(7)))
    const { document: largeDocument } = await db
      .selectFrom('quote_shares')
      .select('document')
      .where('token_hash', '=', hashToken(large))
      .executeTakeFirstOrThrow()
    await db.destroy()

    const { port, pid } = await startApi(servers)
    const api = `http://127.0.0.1:${port}/quote/share/`
    const files = { html: join(directory, 'page'), json: join(directory, 'json') }
    for (const format of ['html', 'json'] as const) {
      const response = await fetch(`${api}${small}?format=${format}`)
      if (response.status !== 200) throw new Error(`The API answers ${response.status}.`)
      await writeFile(files[format], Buffer.from(await response.arrayBuffer()))
    }
    const nakedPort = await freePort()
    const nakedPid = start(['scripts/bench/share-naked.ts', servers.databaseUrl, String(nakedPort), files.html, files.json], {})
    const naked = `http://127.0.0.1:${nakedPort}`
    await answering(`${naked}/json/${small}`)

    const seconds = Number(values.seconds)
    for (const format of ['json', 'html'] as const) {
      const urls = { ours: `${api}${small}?format=${format}`, naked: `${naked}/${format}/${small}` }
      // Compilers take their time with what both do.
      await load(urls.ours, 4, pid)
      await load(urls.naked, 4, nakedPid)
      const turns: { speed: number; processor: number; text: string }[] = []
      for (let round = 0; round < Number(values.rounds); round += 1) {
        const ours = await load(urls.ours, seconds, pid)
        const theirs = await load(urls.naked, seconds, nakedPid)
        const speed = ours.perSecond / theirs.perSecond
        const text = `${Math.round(ours.perSecond)} : ${Math.round(theirs.perSecond)} = ${speed.toFixed(2)}`
        turns.push({ speed, processor: theirs.processorMs / ours.processorMs, text })
      }
      console.log(
        `${format.toUpperCase()}: ${median(turns.map(({ speed }) => speed)).toFixed(2)} of the naked route ` +
          `(${turns.map(({ text }) => text).join(', ')} requests per second); ` +
          `by processor time ${median(turns.map(({ processor }) => processor)).toFixed(2)}`,
      )
    }

    await timed(`${api}${onePagers.pop()}?format=pdf`)
    const pdfs: number[] = []
    for (const token of onePagers) pdfs.push(await timed(`${api}${token}?format=pdf`))
    console.log(
      `PDF of 7 lines: p50 ${ms(median(pdfs))}, slowest ${ms(Math.max(...pdfs))}, of ${pdfs.length}; again, from memory: ${ms(await timed(`${api}${onePagers[0]}?format=pdf`))}`,
    )

    for (const [name, format] of [
      ['PDF', 'pdf'],
      ['page', 'html'],
    ]) {
      const before = await probesWhile(`${api}${small}?format=json`, new Promise((resolve) => setTimeout(resolve, 500)))
      let took = 0
      const during = await probesWhile(
        `${api}${small}?format=json`,
        timed(`${api}${large}?format=${format}`).then((time) => (took = time)),
      )
      console.log(
        `${name} of 1,114 lines: ${ms(took)}; other requests meanwhile p50 ${ms(median(during))}, slowest ${ms(Math.max(...during))} ` +
          `(before: p50 ${ms(median(before))}, slowest ${ms(Math.max(...before))})`,
      )
    }

    console.log(`Setting it takes ${ms(await processorOfOrder(largeDocument))} of the processor in the process that answers requests`)

    const guesses = { unknown: 'A'.repeat(43), malformed: 'x', draft }
    const times = new Map<string, number[]>(Object.keys(guesses).map((kind) => [kind, []]))
    for (let n = 0; n < 1_000; n += 1) for (const [kind, token] of Object.entries(guesses)) times.get(kind)?.push(await timed(api + token))
    console.log(`404: ${[...times].map(([kind, all]) => `${kind} ${ms(median(all))}`).join(', ')} (medians of 1,000, in turns)`)
    return 0
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await servers.stop()
    await rm(directory, { recursive: true, force: true })
    process.off('SIGINT', stopEarly)
  }
})

type Line = {
  sku: string | null
  description: string
  quantity: string
  unit_price: string
  tax_rate: string | null
  discount_percent: string
}

function exampleLines(count: number): Line[] {
  return Array.from({ length: count }, (_, n) => ({
    sku: `AB-${n}`,
    description: `Martillo de bola de ${n + 1}00 g con mango de fresno`,
    quantity: String(n + 1),
    unit_price: `${n + 7}.25`,
    tax_rate: n % 3 === 0 ? '10' : '21',
    discount_percent: n % 4 === 0 ? '5' : '0',
  }))
}

async function invoiceLines(invoice: string): Promise<Line[]> {
  const rows = createReadStream(join(root, 'demo/online_retail_2010_2011.csv.gz'))
    .pipe(createGunzip())
    .pipe(parse({ columns: true, relax_quotes: true }))
  const lines: Line[] = []
  for await (const row of rows as AsyncIterable<Record<string, string>>) {
    if (row.InvoiceNo !== invoice) continue
    const { StockCode = null, Description, Quantity = '1', UnitPrice = '0' } = row
    lines.push({
      sku: StockCode,
      description: Description || '—',
      quantity: Quantity,
      unit_price: UnitPrice,
      tax_rate: null,
      discount_percent: '0',
    })
  }
  return lines
}

async function makeLink(db: Database, number: string, lines: Line[]): Promise<string> {
  const { id } = await db
    .insertInto('quotes')
    .values({
      number,
      status: 'sent',
      customer_name: 'Talleres del Ejemplo, S.L.',
      currency: 'EUR',
      rate: '1',
      issued_on: '2026-11-01',
      notes: 'Gracias.',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await sql`insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, tax_rate, discount_percent, net)
    select ${id}, position, sku, description, quantity, unit_price, tax_rate, discount_percent, line_net(quantity, unit_price, discount_percent, 2)
    from rows from (json_to_recordset(${JSON.stringify(lines)}::json)
      as (sku text, description text, quantity numeric, unit_price numeric, tax_rate numeric, discount_percent numeric)) with ordinality
      as lines (sku, description, quantity, unit_price, tax_rate, discount_percent, position)`.execute(db)
  await sql`update quotes set (net, tax, gross) = (select net, tax, gross from quote_totals(${id})) where id = ${id}`.execute(db)
  return shareQuote(db, { number })
}

async function startApi(servers: {
  databaseUrl: string
  redisUrl: string
  meiliUrls: string[]
  meiliMasterKey: string
}): Promise<{ port: number; pid: number }> {
  const port = await freePort()
  const raised = '1000000000'
  const pid = start(['src/server.ts'], {
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    MEILI_URL: servers.meiliUrls[0],
    MEILI_SEARCH_KEY: searchKey(servers.meiliMasterKey),
    COMPANY_FILE: 'company.example.json',
    PORT: String(port),
    OPS_PORT: String(await freePort()),
    LINK_LIMIT_PER_MINUTE: raised,
    LINK_GUESS_LIMIT_PER_MINUTE: raised,
  })
  await answering(`http://127.0.0.1:${port}/quote/share/x`)
  return { port, pid }
}

function start(words: string[], env: Record<string, string | undefined>): number {
  const child = spawn(process.execPath, words, { cwd: root, env: { ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  return child.pid ?? 0
}

/** Processor time of a process so far, in ms; not a number where the system does not tell. On a busy machine it says more than requests per second. */
function processorTime(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('There is no free port.')
  return address.port
}

async function answering(url: string): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    )
    if (answered) return
    if (Date.now() > deadline) throw new Error(`Nothing answers on ${new URL(url).host}.`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function load(url: string, seconds: number, pid: number): Promise<{ perSecond: number; processorMs: number }> {
  const before = processorTime(pid)
  const words = ['--json', '--connections', '16', '--duration', String(seconds), url]
  const { stdout } = await promisify(execFile)(join(root, 'node_modules/.bin/autocannon'), words)
  const { requests, non2xx, errors } = JSON.parse(stdout) as {
    requests: { average: number; total: number }
    non2xx: number
    errors: number
  }
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests failed.`)
  return { perSecond: requests.average, processorMs: (processorTime(pid) - before) / requests.total }
}

async function timed(url: string): Promise<number> {
  const began = performance.now()
  const response = await fetch(url)
  await response.arrayBuffer()
  return performance.now() - began
}

/** All that the making of a PDF aside costs the process that orders it: so it cannot hold up anybody for longer. */
async function processorOfOrder(document: string): Promise<number> {
  const press = pdfPress({ cacheBytes: 0 })
  const order = { document, contentHash: '0', status: 'sent', language: 'en' } as const
  await press.render(order)
  const before = process.cpuUsage()
  await press.render(order)
  const { user, system } = process.cpuUsage(before)
  press.close()
  return (user + system) / 1000
}

/** Times of requests, one every 5 ms or as fast as they are answered, until something else is done. */
async function probesWhile(url: string, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  let done = false
  void work.finally(() => {
    done = true
  })
  while (!done) {
    times.push(await timed(url))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return times
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}
