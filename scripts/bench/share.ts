// Measures quote links: throughput against a naked route in the same run, PDFs, other requests meanwhile, and how alike the 404s are in time.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCompany, recordCompany } from '../../src/company/company.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { searchKey } from '../../src/indexing/engine-keys.ts'
import { hashLinkToken } from '../../src/quotes/link-token.ts'
import { PdfRenderer } from '../../src/quotes/pdf/pdf-renderer.ts'
import { runCommand } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { startServers } from '../servers/test-servers.ts'
import { type Load, load } from './support/maximum-load.ts'
import { exampleLines, invoiceLines, makeLink } from './support/quotes-with-links.ts'

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

await runCommand(
  help,
  { seconds: { type: 'string', default: '4' }, rounds: { type: 'string', default: '3' } },
  async (values) => {
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
      await db
        .updateTable('quotes')
        .set({ status: 'draft' })
        .where('number', '=', 'DRAFT')
        .execute()
      const large = await makeLink(db, largeInvoice, await invoiceLines(largeInvoice))
      const onePagers: string[] = []
      for (let n = 0; n < 60; n += 1)
        onePagers.push(await makeLink(db, `ONE-${n}`, exampleLines(7)))
      const { document: largeDocument } = await db
        .selectFrom('quote_shares')
        .select('document')
        .where('token_hash', '=', hashLinkToken(large))
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
      const nakedPort = await choosePort('The naked route')
      const nakedPid = start(
        [
          'scripts/bench/support/share-baseline-server.ts',
          servers.databaseUrl,
          String(nakedPort),
          files.html,
          files.json,
        ],
        {},
      )
      const naked = `http://127.0.0.1:${nakedPort}`
      await answering(`${naked}/json/${small}`)

      const seconds = Number(values.seconds)
      for (const format of ['json', 'html'] as const) {
        const urls = {
          ours: `${api}${small}?format=${format}`,
          naked: `${naked}/${format}/${small}`,
        }
        // Compilers take their time with what both do.
        await loadOn(urls.ours, 4, pid)
        await loadOn(urls.naked, 4, nakedPid)
        const turns: { speed: number; processor: number; text: string }[] = []
        for (let round = 0; round < Number(values.rounds); round += 1) {
          const ours = await loadOn(urls.ours, seconds, pid)
          const theirs = await loadOn(urls.naked, seconds, nakedPid)
          const speed = ours.perSecond / theirs.perSecond
          const text = `${Math.round(ours.perSecond)} : ${Math.round(theirs.perSecond)} = ${speed.toFixed(2)}`
          turns.push({ speed, processor: theirs.cpuMicroseconds / ours.cpuMicroseconds, text })
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
        const before = await probesWhile(
          `${api}${small}?format=json`,
          new Promise((resolve) => setTimeout(resolve, 500)),
        )
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

      console.log(
        `Setting it takes ${ms(await processorOfOrder(largeDocument))} of the processor in the process that answers requests`,
      )

      const guesses = { unknown: 'A'.repeat(43), malformed: 'x', draft }
      const times = new Map<string, number[]>(Object.keys(guesses).map((kind) => [kind, []]))
      for (let n = 0; n < 1_000; n += 1)
        for (const [kind, token] of Object.entries(guesses))
          times.get(kind)?.push(await timed(api + token))
      console.log(
        `404: ${[...times].map(([kind, all]) => `${kind} ${ms(median(all))}`).join(', ')} (medians of 1,000, in turns)`,
      )
      return 0
    } finally {
      for (const child of children) child.kill('SIGKILL')
      await servers.stop()
      await rm(directory, { recursive: true, force: true })
      process.off('SIGINT', stopEarly)
    }
  },
)

async function startApi(servers: {
  databaseUrl: string
  redisUrl: string
  meiliUrls: string[]
  meiliMasterKey: string
}): Promise<{ port: number; pid: number }> {
  const port = await choosePort('The API')
  const raised = '1000000000'
  const pid = start(['src/server.ts'], {
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    MEILI_URL: servers.meiliUrls[0],
    MEILI_SEARCH_KEY: searchKey(servers.meiliMasterKey),
    COMPANY_FILE: 'company.example.json',
    PORT: String(port),
    OPS_PORT: String(await choosePort('Health')),
    LINK_LIMIT_PER_MINUTE: raised,
    LINK_GUESS_LIMIT_PER_MINUTE: raised,
  })
  await answering(`http://127.0.0.1:${port}/quote/share/x`)
  return { port, pid }
}

function start(words: string[], env: Record<string, string | undefined>): number {
  const child = spawn(process.execPath, words, {
    cwd: root,
    env: { ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  children.push(child)
  return child.pid ?? 0
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

async function loadOn(url: string, seconds: number, pid: number): Promise<Load> {
  const measured = await load({ url, headers: {}, seconds, connections: 16, pid }, 'autocannon')
  if (measured.failed > 0) throw new Error(`${measured.failed} requests failed.`)
  return measured
}

async function timed(url: string): Promise<number> {
  const began = performance.now()
  const response = await fetch(url)
  await response.arrayBuffer()
  return performance.now() - began
}

/** All that the making of a PDF aside costs the process that orders it: so it cannot hold up anybody for longer. */
async function processorOfOrder(document: string): Promise<number> {
  const renderer = new PdfRenderer({ cacheBytes: 0 })
  const order = { document, contentHash: '0', status: 'sent', language: 'en' } as const
  await renderer.render(order)
  const before = process.cpuUsage()
  await renderer.render(order)
  const { user, system } = process.cpuUsage(before)
  renderer.close()
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
