// The process that renders PDFs and large pages: what customers see while it works, when it fails
// or does not run, and its limits.
// Numbers such as S41 are those of the attacks in docs/security.md.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import t from 'tap'
import { generateLines, insertLinkedQuote } from '../../scripts/bench/data/linked-quotes.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { type ListedLink, listQuoteLinks } from '../../src/quotes/links/manage-links.ts'
import { renderingWait } from '../../src/quotes/rendering/quote-renderer.ts'
import { renderingNiceIncrement } from '../../src/quotes/rendering/rendering-process.ts'
import { stopRenderingTimeout } from '../../src/quotes/route.ts'
import { languages, textsByLanguage } from '../../src/texts/languages.ts'
import { eventually } from '../support/eventually.ts'
import { document, hammer, openLink } from '../support/quotes/linked-quote.ts'
import {
  renderDocument,
  requestUntilReady,
  startRenderer,
  waitLongForRenderings,
  watchRenderingProcesses,
} from '../support/quotes/rendering-processes.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { startServiceWithLink } from '../support/service/service-with-link.ts'
import { testService } from '../support/service/test-service.ts'

waitLongForRenderings(t)

const getPage = (app: FastifyInstance, url: string) =>
  app.inject({ url, headers: { accept: 'text/html' } })
const findErrors = (lines: string[]) =>
  lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
const pendingPage = /Estamos preparando.*<a class="button" href="">Intentarlo de nuevo</s

const oneLine = {
  documentJson: JSON.stringify(document),
  contentHash: 'small',
  status: 'sent',
  language: null,
} as const
const withLines = (count: number) => ({
  ...oneLine,
  contentHash: `${count}`,
  documentJson: JSON.stringify({
    ...document,
    lines: Array.from({ length: count }, (_, index) => ({ ...hammer, position: index + 1 })),
  }),
})

t.test('one process renders many large pages and PDFs, and they are cached', async (t) => {
  const children: ChildProcess[] = []
  watchRenderingProcesses(t, (child) => children.push(child))
  const { app, db } = await testService(t, { index: false })
  const token = await insertLinkedQuote(db, 'LARGE', generateLines(2000))
  const url = `/quote/share/${token}`
  const responses = await Promise.all(Array.from({ length: 5 }, () => app.inject(url)))
  for (const { statusCode, body } of responses) {
    t.equal(statusCode, 200)
    t.equal(body.match(/<tr role="row">/g)?.length, 2001)
  }
  for (const language of languages)
    t.equal((await requestUntilReady(app, `${url}?lang=${language}`)).statusCode, 200, language)
  t.equal((await app.inject(`${url}?format=json`)).json().document.lines.length, 2000)
  const pdf = await requestUntilReady(app, `${url}?format=pdf`)
  t.match(pdf.rawPayload.subarray(0, 5).toString(), '%PDF-')
  t.equal(children.length, 1)
  t.equal(getPriority(children[0]?.pid), getPriority() + renderingNiceIncrement)
  await sql`alter function read_quote_share_document(bytea) rename to hidden`.execute(db)
  t.equal((await app.inject(url)).body, responses[0]?.body, 'a cached page needs no document')
  t.same((await app.inject(`${url}?format=pdf`)).rawPayload, pdf.rawPayload)
  await sql`update quote_shares set revoked_at = now()`.execute(db)
  t.equal((await app.inject(url)).statusCode, 410, 'a cached page is not sent after a revocation')
})

t.test('small and large pages and JSON are compressed as the client accepts', async (t) => {
  const { app, db, token: small } = await startServiceWithLink(t)
  const large = await insertLinkedQuote(db, 'LARGE', generateLines(2000))
  const decode = { br: brotliDecompressSync, gzip: gunzipSync, undefined: (bytes: Buffer) => bytes }
  for (const [token, format] of [small, large].flatMap((token) => [
    [token, 'html'],
    [token, 'json'],
  ])) {
    const url = `/quote/share/${token}?format=${format}`
    const plain = await app.inject(url)
    t.equal(plain.headers['content-encoding'], undefined)
    t.match(plain.headers.vary, /Accept-Encoding/)
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['zstd', undefined],
      ['identity', undefined],
    ] as const) {
      const response = await app.inject({ url, headers: { 'accept-encoding': accepted } })
      t.equal(response.headers['content-encoding'], encoding, `${format} ${accepted}`)
      const bytes = decode[`${encoding}`](response.rawPayload)
      t.ok(bytes.equals(plain.rawPayload), `${format} ${accepted}`)
    }
  }
})

t.test('a link that is closed while it waits does not fail other links', async (t) => {
  const { app, db } = await testService(t, { index: false })
  let stopped: ChildProcess | undefined
  watchRenderingProcesses(t, (child) => {
    stopped ??= child
    stopped.kill('SIGSTOP')
  })
  const tokens = []
  for (const number of ['RUNS', 'WAITS', 'CLOSED'])
    tokens.push(await insertLinkedQuote(db, number, generateLines(200)))
  const [runs, waits, closed] = tokens.map((token) => getPage(app, `/quote/share/${token}`))
  await eventually(async () => stopped, Boolean)
  await sql`update quote_shares set revoked_at = now() where quote_id =
    (select id from quotes where number = 'CLOSED')`.execute(db)
  stopped?.kill('SIGCONT')
  t.same(
    (await Promise.all([runs, waits, closed])).map((response) => response?.statusCode),
    [200, 200, 410],
  )
})

t.test('a large document that was altered or cannot be read is not shown (S41)', async (t) => {
  const metrics = createMetrics()
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const { app, db } = await testService(t, { index: false, metrics, log })
  const url = `/quote/share/${await insertLinkedQuote(db, 'LARGE', generateLines(200))}`
  const rename = (from: string, to: string) =>
    sql`alter function ${sql.raw(from)}(bytea) rename to ${sql.raw(to)}`.execute(db)
  await rename('read_quote_share_document', 'hidden')
  const unread = await app.inject({ url, headers: { accept: 'application/json' } })
  t.match(unread.json(), { code: 'unavailable', detail: /cannot be read/ })
  await rename('hidden', 'read_quote_share_document')
  t.equal((await app.inject(url)).statusCode, 200, 'the failure is not remembered')
  t.equal(await readMetric(metrics, 'tqs_altered_documents_total'), 0)

  await sql`alter table quote_shares disable trigger guard`.execute(db)
  await sql`
    alter table quote_shares drop constraint quote_shares_hash_is_of_document
  `.execute(db)
  await sql`update quote_shares set document = replace(document, 'bola', 'oro')`.execute(db)
  const altered = await app.inject(`${url}?lang=en`)
  t.equal(altered.statusCode, 503)
  t.notMatch(altered.body, 'oro')
  t.equal(await readMetric(metrics, 'tqs_altered_documents_total'), 1)
  t.match(
    findErrors(lines).at(-1)?.err,
    { message: /does not match its hash/, stack: /read-link\.ts:\d+/ },
    'the log shows where that was found',
  )
})

t.test('a customer who waits long for a PDF gets a page with a link to try again', async (t) => {
  replaceUntilEnd(t, renderingWait, { ms: 50 })
  const metrics = createMetrics()
  const { app, db } = await testService(t, { index: false, metrics })
  const url = `/quote/share/${await insertLinkedQuote(db, 'LARGE', generateLines(1000))}?format=pdf`
  const tooLate = await getPage(app, url)
  t.equal(tooLate.statusCode, 503)
  t.equal(tooLate.headers['retry-after'], '5')
  t.match(tooLate.body, pendingPage)
  const ready = await requestUntilReady(app, url)
  t.match(ready.rawPayload.subarray(0, 5).toString(), '%PDF-')
  t.equal(
    await readMetric(metrics, 'tqs_pdf_failures_total'),
    0,
    'a PDF that is not ready yet has not failed',
  )
})

t.test('a customer who waits for a PDF when the service stops gets the same page', async (t) => {
  replaceUntilEnd(t, stopRenderingTimeout, { ms: 50 })
  const lines: string[] = []
  const { app, db } = await testService(t, { index: false, log: (line) => lines.push(line) })
  const tokens = [
    await insertLinkedQuote(db, 'LARGE', generateLines(2000)),
    await insertLinkedQuote(db, 'QUEUED', generateLines(1)),
  ]
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  const { promise: started, resolve } = Promise.withResolvers<ChildProcess>()
  watchRenderingProcesses(t, resolve)
  const answers = tokens.map((token) =>
    fetch(`${base}/quote/share/${token}?format=pdf`, { headers: { accept: 'text/html' } }),
  )
  // Starting the process and rendering take more than a second.
  await started
  const closed = app.close()
  for (const response of await Promise.all(answers)) {
    t.equal(response.status, 503)
    t.equal(response.headers.get('retry-after'), '5')
    t.match(await response.text(), pendingPage)
  }
  await closed
  t.notMatch(lines.join(''), '"level":50', 'it is no failure')
})

t.test('a page offers no PDF for a while after the PDF failed', async (t) => {
  let killedCount = 0
  watchRenderingProcesses(t, (child) => {
    child.kill('SIGKILL')
    killedCount += 1
  })
  const metrics = createMetrics()
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const { app, db, token, url } = await startServiceWithLink(t, { metrics, log })
  const [{ id }] = (await listQuoteLinks(db, 'P-1')) as [ListedLink]
  t.match((await app.inject(url)).body, 'href="?format=pdf"')
  for (const attempt of [1, 2, 3]) {
    const failed = await app.inject({
      url: `${url}?format=pdf`,
      headers: { accept: 'application/json' },
    })
    t.equal(failed.statusCode, 503)
    t.match(failed.json(), { code: 'unavailable', detail: /cannot be made at the moment/ })
    const retryAfter = Number(failed.headers['retry-after'])
    t.ok(retryAfter > 5 && retryAfter <= 30, `Retry-After: ${retryAfter}`)
    t.equal(await readMetric(metrics, 'tqs_pdf_failures_total'), attempt)
  }
  t.equal(killedCount, 1, 'only the first request starts a process')
  const { body } = await app.inject(url)
  t.notMatch(body, 'format=pdf')
  t.match(body, 'Martillo')
  t.match((await app.inject(`${url}?lang=en`)).body, 'format=pdf', 'its PDF did not fail')
  t.match(
    findErrors(lines),
    [
      {
        linkId: id,
        reason: 'rendering_failed',
        format: 'pdf',
        msg: 'quote not shown',
        err: { message: 'The rendering process ended (SIGKILL).' },
      },
    ],
    'it is logged once, with the id of the link',
  )
  t.equal(findErrors(lines).length, 1)
  t.notMatch(lines.join(''), token)
})

t.test('a small quote that cannot be rendered gets 503, logged with its link', async (t) => {
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const { app, db, token, url } = await startServiceWithLink(t, { log })
  await sql`alter table quote_shares disable trigger guard`.execute(db)
  const wrong = sql`'{"language": "es"}'`
  await sql`
    update quote_shares
    set document = ${wrong}, content_hash = encode(sha256(${wrong}::bytea), 'hex')
  `.execute(db)
  const response = await getPage(app, url)
  t.equal(response.statusCode, 503)
  const { tryAgain, openPage } = textsByLanguage.es.quotes
  t.match(response.body, `<a class="button" href="">${tryAgain}</a>`)
  t.notMatch(response.body, 'format=html', 'no link to the page that has just failed')
  const pdf = await getPage(app, `${url}?format=pdf`)
  t.equal(pdf.statusCode, 503)
  t.match(pdf.body, `href="?format=html">${openPage}`)
  t.match(findErrors(lines), [
    { linkId: '1', format: 'html', reason: 'rendering_failed', err: { type: 'TypeError' } },
    { linkId: '1', format: 'pdf', reason: 'rendering_failed' },
  ])
  t.equal(findErrors(lines).length, 2)
  t.notMatch(lines.join(''), token)
})

t.test('a process that needs too much memory or time ends, and the next works (S43)', async (t) => {
  for (const [limits, message] of [
    [{ memoryBytes: 1_000e6 }, /The rendering process ended \((SIG|\d+)/],
    [{ processorMs: 3_000 }, /The rendering process ended \(too much processor time\)/],
  ] as const) {
    const renderer = startRenderer(t, limits)
    await t.rejects(renderDocument(renderer, withLines(8_000)), { message })
    const { pdf } = await renderDocument(renderer, oneLine)
    t.match(pdf.subarray(0, 5).toString(), '%PDF-')
  }
})

t.test('a full queue refuses PDFs, and large pages come first', async (t) => {
  const children: ChildProcess[] = []
  watchRenderingProcesses(t, (child) => {
    children.push(child)
    child.kill('SIGSTOP')
  })
  const renderer = startRenderer(t)
  const finished: string[] = []
  const numbers = Array.from({ length: 32 }, (_, index) => `${index + 1}`)
  const pdfs = numbers.slice(0, 30).map(async (contentHash) => {
    await renderDocument(renderer, { ...oneLine, contentHash })
    finished.push(contentHash)
  })
  const page = renderer
    .getOrRender({ ...openLink, documentBytes: 1e6 }, 'json', null, {
      readVerifiedDocument: async () => oneLine.documentJson,
      logFailure: (error) => t.fail(String(error)),
    })
    .then(() => finished.push('page'))
  for (const contentHash of numbers.slice(30))
    await t.rejects(renderDocument(renderer, { ...oneLine, contentHash }), {
      message: /queued/,
      reason: 'queue_full',
    })
  await eventually(async () => children[0], Boolean)
  children[0]?.kill('SIGCONT')
  await Promise.all([...pdfs, page])
  t.same(finished, ['1', 'page', ...numbers.slice(1, 30)])
  t.equal(children.length, 1)
})

t.test('a process with much memory is used again, and replaced when idle or old', async (t) => {
  const children: ChildProcess[] = []
  watchRenderingProcesses(t, (child) => children.push(child))
  const renderTwice = async (limits: Parameters<typeof startRenderer>[1]) => {
    const renderer = startRenderer(t, { cacheBytes: 1, ...limits })
    const first = await renderDocument(renderer, oneLine)
    t.ok(first.pdf.equals((await renderDocument(renderer, oneLine)).pdf))
    return renderer
  }
  const renderer = await renderTwice({ idleMemoryBytes: 1, idleMs: 2_000 })
  t.equal(children.length, 1)
  await eventually(async () => children[0]?.signalCode, Boolean)
  t.equal(children[0]?.signalCode, 'SIGKILL', 'its memory is freed')
  const thai = JSON.stringify({ ...document, notes: 'ไทย ที่' })
  const refused = { ...oneLine, documentJson: thai, contentHash: 'thai' }
  await t.rejects(renderDocument(renderer, refused), { reason: 'pdf_unsupported', message: /U\+/ })
  await eventually(async () => children[1]?.signalCode, Boolean)
  t.equal(children[1]?.signalCode, 'SIGKILL', 'also if its last quote has no PDF')
  await renderTwice({ replacedAfterMs: 100 })
  t.equal(children.length, 4, 'each PDF is from another process')
})

t.test('a process that hardly runs is not blamed on the quote', async (t) => {
  const children: ChildProcess[] = []
  watchRenderingProcesses(t, (child) => {
    children.push(child)
    child.kill('SIGSTOP')
    // Longer than the limit of its processor time.
    if (children.length === 1) setTimeout(() => child.kill('SIGCONT'), 3_000)
  })
  const waking = startRenderer(t, { processorMs: 2_000 })
  t.match((await renderDocument(waking, oneLine)).pdf.subarray(0, 5).toString(), '%PDF-')
  t.equal(children.length, 1)
  const sleeping = startRenderer(t, { elapsedMs: 500 })
  const unreachable = {
    message: /hardly ran/,
    reason: 'process_unreachable',
  }
  await t.rejects(renderDocument(sleeping, oneLine), unreachable)
  await t.rejects(renderDocument(sleeping, oneLine), unreachable, 'the next request renders again')
  t.equal(children.length, 3)
  for (const child of children.slice(1)) {
    child.ref()
    if (child.signalCode === null) await once(child, 'exit')
    t.equal(child.signalCode, 'SIGKILL')
  }
})

t.test('a process that cannot be started blocks no quote, and stopping ends it', async (t) => {
  let onStart = (child: ChildProcess): unknown =>
    setImmediate(() => child.emit('error', new Error('spawn EAGAIN')))
  watchRenderingProcesses(t, (child) => onStart(child))
  const renderer = startRenderer(t, { cacheBytes: 1, idleMemoryBytes: 1, idleMs: 0 })
  await t.rejects(renderDocument(renderer, oneLine), {
    message: /cannot be reached/,
    reason: 'process_unreachable',
    cause: { cause: { message: 'spawn EAGAIN' } },
  })
  let idle: ChildProcess | undefined
  onStart = (child) => {
    idle = child
  }
  t.match((await renderDocument(renderer, oneLine)).pdf.subarray(0, 5).toString(), '%PDF-')
  await eventually(async () => idle?.signalCode, Boolean)
  onStart = () => renderer.close()
  await t.rejects(renderDocument(renderer, withLines(2_000)), {
    message: /stopping/,
    reason: 'stopping',
  })
  await t.rejects(renderDocument(renderer, oneLine), { message: /stopping/, reason: 'stopping' })
})
