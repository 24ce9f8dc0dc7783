// Measures quote links: throughput as a share of a baseline route, PDFs, other requests meanwhile,
// and whether the 404s can be told apart by time.
import { openSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NotNull } from 'kysely'
import { defaultBrand } from '../../src/company/brand.ts'
import { readCompany } from '../../src/company/company-file.ts'
import { recordCompany } from '../../src/company/company-record.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { migrate } from '../../src/database/run-migrations.ts'
import { deriveSearchKey } from '../../src/indexing/keys.ts'
import { hashLinkToken, type OpenLink } from '../../src/quotes/links/read-link.ts'
import { QuoteRenderer } from '../../src/quotes/rendering/quote-renderer.ts'
import { languages } from '../../src/texts/languages.ts'
import { runCommand, UsageError } from '../cli/command.ts'
import { choosePort } from '../servers/free-port.ts'
import { startServers } from '../servers/test-servers.ts'
import { generateLines, insertLinkedQuote, readInvoiceLines } from './support/data/linked-quotes.ts'
import {
  describeLargeQuotes,
  measureLargeQuotes,
  measureMs,
  probeWhile,
} from './support/load/large-quotes-at-once.ts'
import { type Load, measureMaximumLoad } from './support/load/maximum-load.ts'
import { median } from './support/load/quantile.ts'
import { startBenchProcess } from './support/processes/bench-process.ts'

const help = `
Usage: node scripts/bench/share.ts [--seconds N] [--rounds N] [--only PART,PART]

Starts servers, the API and a baseline: a Fastify route that does the same indexed read and
sends the same bytes. Alternates between the two:

  JSON and HTML   requests a second, as a share of the baseline (targets: 0.85 and 0.8)
  PDF             time to render one page, and the demo's invoice 573585 with 1,114 lines,
                  without the cache
  meanwhile       latency of other requests while the large document is rendered
  ten at once     p95 of other requests while ten quotes of 2,000 lines are opened at once
                  for the first time, as pages and as PDFs, as a multiple of the p95 between
                  these bursts (target: 1.5); while a plain server sends the same bodies at the
                  same times, which shows the share of the client; and beside one busy process of
                  the same priority, which shows the share of the machine
  404             latency of unknown, malformed and draft links

  --seconds N  duration of each measurement. Default: 4
  --rounds N   number of measurements. Default: 3
  --only PARTS any of baseline, pdf, meanwhile, ten, 404. Default: all
`
const parts = ['baseline', 'pdf', 'meanwhile', 'ten', '404']
const root = join(import.meta.dirname, '../..')
const largeInvoice = '573585'
const warmUpSeconds = 4

await runCommand(
  help,
  {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: parts.join(',') },
  },
  async (values) => {
    const only = values.only.split(',')
    const unknown = only.find((part) => !parts.includes(part))
    if (unknown !== undefined)
      throw new UsageError(`--only: ${unknown} is none of ${parts.join(', ')}.`)
    const directory = await mkdtemp(join(tmpdir(), 'tqs-bench-'))
    const stopEarly = () => process.exit(130)
    process.once('SIGINT', stopEarly)
    const servers = await startServers(directory, 1)
    try {
      console.log('Creating quotes ...')
      const quotes = await createQuotes(servers.databaseUrl)
      const { port, pid } = await startApi(servers)
      const api: Api = { linkUrl: `http://127.0.0.1:${port}/quote/share/`, pid }
      if (only.includes('baseline')) {
        const { databaseUrl } = servers
        const baseline = await startBaselineRoute(databaseUrl, directory, api, quotes.small)
        await compareWithBaseline(api, baseline, quotes.small, {
          seconds: Number(values.seconds),
          rounds: Number(values.rounds),
        })
      }
      if (only.includes('pdf')) await measurePdfs(api, quotes.onePagers)
      if (only.includes('meanwhile')) await measureOtherRequests(api, quotes)
      if (only.includes('ten')) await measureTenAtOnce(api, quotes)
      if (only.includes('404')) await compareNotFound(api, quotes.draft)
      return 0
    } finally {
      await servers.stop()
      await rm(directory, { recursive: true, force: true })
      process.off('SIGINT', stopEarly)
    }
  },
)

/** The tokens of links to the quotes, and the frozen document of the large one. */
type Quotes = {
  small: string
  draft: string
  large: string
  largeDocument: string
  onePagers: string[]
  /** Ten quotes of 2,000 lines. */
  largest: string[]
}
/** `linkUrl` is the address of a link without its token. */
type Api = { linkUrl: string; pid: number }
type Baseline = { url: string; pid: number }

async function createQuotes(databaseUrl: string): Promise<Quotes> {
  const db = openDatabase(databaseUrl)
  await migrate(db)
  await recordCompany(db, readCompany(join(root, 'company.example.json')))
  const small = await insertLinkedQuote(db, 'SMALL', generateLines(12))
  const draft = await insertLinkedQuote(db, 'DRAFT', generateLines(12))
  await db.updateTable('quotes').set({ status: 'draft' }).where('number', '=', 'DRAFT').execute()
  const large = await insertLinkedQuote(db, largeInvoice, await readInvoiceLines(largeInvoice))
  const onePagers: string[] = []
  for (let n = 0; n < 60; n += 1)
    onePagers.push(await insertLinkedQuote(db, `ONE-${n}`, generateLines(7)))
  const largest: string[] = []
  for (let n = 0; n < 10; n += 1)
    largest.push(await insertLinkedQuote(db, `LARGEST-${n}`, generateLines(2000)))
  const { document: largeDocument } = await db
    .selectFrom('quote_shares')
    .select('document')
    .$narrowType<{ document: NotNull }>()
    .where('token_hash', '=', hashLinkToken(large))
    .executeTakeFirstOrThrow()
  await db.destroy()
  return { small, draft, large, largeDocument, onePagers, largest }
}

/** Starts the route that sends the same bytes as the API for `token`. */
async function startBaselineRoute(
  databaseUrl: string,
  directory: string,
  api: Api,
  token: string,
): Promise<Baseline> {
  const files = { html: join(directory, 'page'), json: join(directory, 'json') }
  for (const format of ['html', 'json'] as const) {
    const response = await fetch(`${api.linkUrl}${token}?format=${format}`)
    if (response.status !== 200) throw new Error(`The API answers ${response.status}.`)
    await writeFile(files[format], Buffer.from(await response.arrayBuffer()))
  }
  const port = await choosePort('The baseline route')
  const script = 'scripts/bench/support/share-baseline-route.ts'
  const args = [script, databaseUrl, String(port), files.html, files.json]
  const { pid } = startBenchProcess(args)
  const url = `http://127.0.0.1:${port}`
  await untilAnswering(`${url}/json/${token}`)
  return { url, pid }
}

/** Prints the throughput of JSON and HTML as a share of the baseline route. */
async function compareWithBaseline(
  api: Api,
  baseline: Baseline,
  token: string,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<void> {
  for (const format of ['json', 'html'] as const) {
    const urls = {
      ours: `${api.linkUrl}${token}?format=${format}`,
      baseline: `${baseline.url}/${format}/${token}`,
    }
    // The JIT compiler needs some seconds for both.
    await loadOn(urls.ours, warmUpSeconds, api.pid)
    await loadOn(urls.baseline, warmUpSeconds, baseline.pid)
    const speeds: number[] = []
    const processorRatios: number[] = []
    const texts: string[] = []
    for (let round = 0; round < rounds; round += 1) {
      const ours = await loadOn(urls.ours, seconds, api.pid)
      const reference = await loadOn(urls.baseline, seconds, baseline.pid)
      const speed = ours.perSecond / reference.perSecond
      speeds.push(speed)
      processorRatios.push(reference.cpuMicroseconds / ours.cpuMicroseconds)
      const rates = `${Math.round(ours.perSecond)} : ${Math.round(reference.perSecond)}`
      texts.push(`${rates} = ${speed.toFixed(2)}`)
    }
    console.log(
      `${format.toUpperCase()}: ${median(speeds).toFixed(2)} of the baseline ` +
        `(${texts.join(', ')} requests a second); ` +
        `by processor time ${median(processorRatios).toFixed(2)}`,
    )
  }
}

/** Prints the time of a PDF of one page, without and with the cache. */
async function measurePdfs(api: Api, [warmUpToken, ...tokens]: string[]): Promise<void> {
  const measurePdf = (token: string | undefined) => measureMs(`${api.linkUrl}${token}?format=pdf`)
  await measurePdf(warmUpToken)
  const times: number[] = []
  for (const token of tokens) times.push(await measurePdf(token))
  console.log(
    `PDF of 7 lines: p50 ${ms(median(times))}, slowest ${ms(Math.max(...times))}, ` +
      `of ${times.length}; again, from the cache: ${ms(await measurePdf(tokens[0]))}`,
  )
}

/** Prints the latency of a small quote before and while the large one is rendered. */
async function measureOtherRequests(
  api: Api,
  { small, large, largeDocument }: Quotes,
): Promise<void> {
  const smallUrl = `${api.linkUrl}${small}?format=json`
  for (const [name, format] of [
    ['PDF', 'pdf'],
    ['page', 'html'],
  ]) {
    const before = await probeWhile(smallUrl, sleep(500))
    let largeMs = 0
    const during = await probeWhile(
      smallUrl,
      measureMs(`${api.linkUrl}${large}?format=${format}`).then((time) => (largeMs = time)),
    )
    console.log(
      `${name} of 1,114 lines: ${ms(largeMs)}; other requests meanwhile ` +
        `p50 ${ms(median(during))}, slowest ${ms(Math.max(...during))} ` +
        `(before: p50 ${ms(median(before))}, slowest ${ms(Math.max(...before))})`,
    )
  }
  console.log(
    `Rendering it costs the process that answers requests ` +
      `${ms(await processorMsOfRequest(largeDocument))} of processor time`,
  )
}

/** Prints the p95 of a small quote while ten of 2,000 lines are opened at once, and between. */
async function measureTenAtOnce({ linkUrl }: Api, { small, largest }: Quotes): Promise<void> {
  const smallUrl = `${linkUrl}${small}?format=json`
  // Each language is a rendering of its own, and the pages of one quote in all are not cached.
  const openAll = (query: string) => largest.map((token) => `${linkUrl}${token}?${query}`)
  const pages = languages.map((language) => openAll(`lang=${language}`))
  for (const [format, bursts] of [
    ['page', pages],
    ['PDF', ['en', 'es'].map((language) => openAll(`format=pdf&lang=${language}`))],
  ] as const)
    console.log(describeLargeQuotes(format, await measureLargeQuotes({ smallUrl, bursts })))
}

/** Prints the latency of the three kinds of links that are answered with 404. */
async function compareNotFound(api: Api, draft: string): Promise<void> {
  const failingTokens = { unknown: 'A'.repeat(43), malformed: 'x', draft }
  const times = new Map<string, number[]>(Object.keys(failingTokens).map((kind) => [kind, []]))
  for (let n = 0; n < 1_000; n += 1)
    for (const [kind, token] of Object.entries(failingTokens))
      times.get(kind)?.push(await measureMs(api.linkUrl + token))
  console.log(
    `404: ${[...times].map(([kind, all]) => `${kind} ${ms(median(all))}`).join(', ')} ` +
      '(medians of 1,000, measured alternately)',
  )
}

async function startApi(servers: {
  databaseUrl: string
  redisUrl: string
  meiliUrls: string[]
  meiliMasterKey: string
}): Promise<{ port: number; pid: number }> {
  const port = await choosePort('The API')
  const unlimited = '1000000000'
  const env = {
    DATABASE_URL: servers.databaseUrl,
    REDIS_URL: servers.redisUrl,
    MEILI_URL: servers.meiliUrls[0],
    MEILI_SEARCH_KEY: deriveSearchKey(servers.meiliMasterKey),
    COMPANY_FILE: 'company.example.json',
    PORT: String(port),
    OPS_PORT: String(await choosePort('Health')),
    LINK_LIMIT_PER_MINUTE: unlimited,
    LINK_GUESS_LIMIT_PER_MINUTE: unlimited,
  }
  const { pid } = startBenchProcess(['src/server.ts'], env, openSync('/dev/null', 'w'))
  await untilAnswering(`http://127.0.0.1:${port}/quote/share/x`)
  return { port, pid }
}

async function untilAnswering(url: string): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const isAnswering = await fetch(url).then(
      () => true,
      () => false,
    )
    if (isAnswering) return
    if (Date.now() > deadline) throw new Error(`Nothing answers on ${new URL(url).host}.`)
    await sleep(100)
  }
}

async function loadOn(url: string, seconds: number, pid: number): Promise<Load> {
  const measured = await measureMaximumLoad({ url, headers: {}, seconds, connections: 16, pid })
  if (measured.failed > 0) throw new Error(`${measured.failed} requests failed.`)
  return measured
}

/**
 * Returns the processor time that a PDF costs the process that requests it from the renderer. Other
 * requests cannot be delayed for longer.
 */
async function processorMsOfRequest(documentJson: string): Promise<number> {
  const options = { brand: defaultBrand, offersReplies: false, timeZone: 'UTC' }
  const renderer = new QuoteRenderer(options, { cacheBytes: 1 })
  const link: OpenLink = {
    state: 'open',
    quoteStatus: 'sent',
    contentHash: '0',
    expiresAt: null,
    linkId: '1',
    tokenHash: '',
    rowVersion: '1',
    documentBytes: documentJson.length,
  }
  const source = { readVerifiedDocument: async () => documentJson, logFailure: () => undefined }
  await renderer.getOrRender(link, 'pdf', 'en', source)
  const before = process.cpuUsage()
  await renderer.getOrRender(link, 'pdf', 'en', source)
  const { user, system } = process.cpuUsage(before)
  renderer.close()
  return (user + system) / 1000
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}
