// Measures quote links: throughput next to a route that does the same read and sends the same bytes,
// PDFs, other requests while large quotes are opened, and whether the 404s can be told apart.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { languages } from '../../src/texts/languages.ts'
import { generateLines, insertLinkedQuote, readInvoice } from './data/linked-quotes.ts'
import {
  type Bench,
  compare,
  createService,
  elapsedMs,
  load,
  measureTimes,
  median,
  quantile,
  reportRatio,
  startApi,
  startBaseline,
} from './harness.ts'

const largeInvoice = '573585'

export async function measure(bench: Bench): Promise<void> {
  const service = await createService(bench, 'links')
  const { db, databaseUrl } = service
  const api = await startApi(bench, 'links', service)
  const path = (token: string, query = '') => `/quote/share/${token}${query}`
  const open = async (token: string, query = '') => {
    const response = await fetch(api.url + path(token, query))
    const body = Buffer.from(await response.arrayBuffer())
    return { status: response.status, body, retryAfter: response.headers.get('retry-after') }
  }
  const insertMany = async (prefix: string, count: number, lines: number) => {
    const tokens: string[] = []
    for (let n = 0; n < count; n += 1)
      tokens.push(await insertLinkedQuote(db, `${prefix}-${n}`, generateLines(lines)))
    return tokens
  }
  const [small = '', draft = ''] = await insertMany('SMALL', 2, 12)
  await db.updateTable('quotes').set({ status: 'draft' }).where('number', '=', 'SMALL-1').execute()

  const files = { html: join(bench.directory, 'page'), json: join(bench.directory, 'json') }
  for (const format of ['html', 'json'] as const)
    await writeFile(files[format], (await open(small, `?format=${format}`)).body)
  const baseline = await startBaseline(bench, 'link', databaseUrl, files.html, files.json)
  for (const [format, atLeast] of [
    ['json', 0.85],
    ['html', 0.8],
  ] as const) {
    const requests = [{ path: path(small, `?format=${format}`) }]
    const targets = { ours: { url: api.url, requests }, other: { url: baseline.url, requests } }
    const seconds = bench.size(4, 1)
    const { ours, other } = await compare(targets, bench.size(3, 1), { connections: 16, seconds })
    reportRatio(bench, `${format}, of a route that sends the same bytes`, [ours, other], {
      atLeast,
    })
  }

  const links = await insertMany('TIMED', bench.size(500, 40), 12)
  for (const [what, format, tokens] of [
    ['quote page, opened for the first time', 'html', links],
    ['quote page, rendered before', 'html', links.map((_, n) => links[n % 50] ?? '')],
    ['quote as JSON', 'json', links],
  ] as const)
    await measureTimes(bench, what, {
      url: api.url,
      requests: tokens.map((token) => ({ path: path(token, `?format=${format}`) })),
    })

  const pdfMs: number[] = []
  for (const token of await insertMany('PDF', bench.size(60, 4), 7))
    pdfMs.push(await elapsedMs(() => open(token, '?format=pdf')))
  // The first one starts the process that renders.
  const onePageMs = median(pdfMs.slice(1))
  bench.report({ what: 'PDF of one page, p50', value: onePageMs, unit: 'ms', bar: { atMost: 20 } })
  const large = await insertLinkedQuote(db, largeInvoice, await readInvoice(largeInvoice))
  const largeMs = await elapsedMs(() => open(large, '?format=pdf'))
  bench.report({
    what: 'PDF of an invoice with 1,114 lines',
    value: largeMs / 1_000,
    unit: 's',
    bar: { atMost: 1 },
  })

  const largest = await insertMany('LARGEST', bench.size(10, 2), bench.size(2_000, 100))
  const openUntilShown = async (token: string, query: string) => {
    // As a browser does, which loads a page again that says so.
    for (;;) {
      const { status, retryAfter } = await open(token, query)
      if (status !== 503) return
      await sleep(Number(retryAfter ?? 1) * 1_000)
    }
  }
  for (const [format, queries] of [
    // Each language is a rendering of its own.
    ['pages', languages.map((language) => `?lang=${language}`)],
    ['PDFs', ['?format=pdf&lang=en', '?format=pdf&lang=es']],
  ] as const) {
    const probe = (work: Promise<unknown>) => probeWhile(() => open(small, '?format=json'), work)
    const [between, meanwhile]: [number[], number[]] = [[], []]
    await probe(sleep(bench.size(4_000, 200)))
    for (const query of queries) {
      between.push(...(await probe(sleep(bench.size(1_500, 200)))))
      meanwhile.push(
        ...(await probe(Promise.all(largest.map((token) => openUntilShown(token, query))))),
      )
    }
    const p95 = [meanwhile, between].map((times) => quantile(times, 0.95))
    const [during = 0, usual = 0] = p95
    bench.report({
      what: `p95 of other requests while ten large ${format} are opened, of that between`,
      value: during / usual,
      unit: '×',
      bar: { atMost: 1.5 },
      detail: `${during.toFixed(1)} ms of ${usual.toFixed(1)} ms`,
    })
  }

  const missing = { unknown: 'A'.repeat(43), malformed: 'x', draft }
  const times = { unknown: [] as number[], malformed: [] as number[], draft: [] as number[] }
  for (let round = 0; round < bench.size(10, 2); round += 1)
    for (const kind of ['unknown', 'malformed', 'draft'] as const) {
      const requests = Array.from({ length: 100 }, () => ({ path: path(missing[kind]) }))
      times[kind].push(...(await load({ url: api.url, requests }, { connections: 1 })).times)
    }
  const medians = Object.values(times).map(median)
  bench.report({
    what: 'slowest kind of 404, of the fastest',
    value: Math.max(...medians) / Math.min(...medians),
    unit: '×',
    bar: { atMost: 1.3 },
    detail: `unknown, malformed, draft: ${medians.map((ms) => ms.toFixed(2)).join(', ')} ms`,
  })
}

/** Returns the times of requests one after the other, 5 ms apart, until `work` has ended. */
async function probeWhile(
  request: () => Promise<unknown>,
  work: Promise<unknown>,
): Promise<number[]> {
  const times: number[] = []
  let isDone = false
  void work.finally(() => (isDone = true))
  while (!isDone) {
    times.push(await elapsedMs(request))
    await sleep(5)
  }
  return times
}
