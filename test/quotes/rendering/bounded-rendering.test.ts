// Large quotes cannot harm the service: limits on sharing, on time and memory of renderings, and a
// process that keeps answering.
// Numbers such as S43 are those of the attacks in docs/security.md.
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import {
  generateLines,
  insertSharedQuote,
} from '../../../scripts/bench/support/data/shared-quotes.ts'
import { defaultBrand as brand } from '../../../src/company/brand.ts'
import { languages } from '../../../src/company/languages.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import { QuoteFailure } from '../../../src/quotes/failures.ts'
import { recordLinkSettings } from '../../../src/quotes/links/link-settings.ts'
import { type ListedLink, listQuoteLinks } from '../../../src/quotes/links/manage-links.ts'
import { PageRenderer } from '../../../src/quotes/page/page-renderer.ts'
import { createPdfProcess, PdfRenderer } from '../../../src/quotes/pdf/pdf-renderer.ts'
import { quoteTexts } from '../../../src/quotes/quote-texts/quote-texts.ts'
import { maxMainThreadDocumentBytes } from '../../../src/quotes/rendering/rendering-limits.ts'
import { timeouts } from '../../../src/timeouts.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { renderDocument } from '../../support/quotes/render-pdf.ts'
import { document, hammer, openLink, withDocument } from '../../support/quotes/shared-quote.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'
import { testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

const allowLines = (db: Database, maxLines: number) =>
  recordLinkSettings(db, { maxLines, retentionDays: 400 })

t.test('a quote with too many lines or too much text cannot be shared (S43)', async (t) => {
  const { db } = await testDatabase(t)
  await allowLines(db, 100)
  await insertSharedQuote(db, 'ALLOWED', generateLines(100))
  await t.rejects(insertSharedQuote(db, 'LONG', generateLines(101)), {
    message: /LONG version 1 has 101 lines, .* at most 100: divide it .* raise SHARE_MAX_LINES/,
  })
  await allowLines(db, 2000)
  await insertSharedQuote(db, 'LARGEST', generateLines(2000))
  await t.rejects(insertSharedQuote(db, 'LONGER', generateLines(2001)), { message: /2001 lines/ })
  const wordy = generateLines(500).map((line) => ({ ...line, description: 'ñ'.repeat(9_000) }))
  await t.rejects(insertSharedQuote(db, 'WORDY', wordy), {
    message: /document of quote WORDY version 1 has 9\d{6} bytes, and at most 4000000/,
  })
})

t.test('a PDF process that needs too much memory ends, and the next one works (S43)', async (t) => {
  const renderer = new PdfRenderer(brand, { process: { maxDataBytes: 1_000e6 } })
  t.teardown(() => renderer.close())
  const lines = Array.from({ length: 4_000 }, (_, index) => ({ ...hammer, position: index + 1 }))
  const large = {
    documentJson: JSON.stringify(withDocument({ lines }).document),
    contentHash: 'large',
    status: 'sent',
    language: null,
  } as const
  await t.rejects(renderDocument(renderer, large), {
    message: /The PDF process ended \((SIG|\d+)/,
  })
  const failedBefore = { message: /The rendering failed before/, reason: 'rendering_failed' }
  await t.rejects(renderDocument(renderer, large), failedBefore, 'the failure is remembered')
  const small = { ...large, documentJson: JSON.stringify(document), contentHash: 'small' }
  t.match((await renderDocument(renderer, small)).pdf.subarray(0, 5).toString(), '%PDF-')
})

/** The limits of a process that is replaced after it was idle for `idleMs`. */
const replaceIdleAfter = (idleMs: number) => ({
  replaceIdleAbove: { residentBytes: 1, idleMs },
})

t.test('a PDF process that needs much memory is used again, and replaced when idle', async (t) => {
  const children: ChildProcess[] = []
  watchPdfProcesses(t, (child) => children.push(child))
  const renderer = new PdfRenderer(brand, {
    process: replaceIdleAfter(2_000),
    cache: { cacheBytes: 0 },
  })
  t.teardown(() => renderer.close())
  const renderTwice = async () => {
    await renderDocument(renderer, oneLine)
    await renderDocument(renderer, oneLine)
  }
  await renderTwice()
  t.equal(children.length, 1)
  await eventually(async () => children[0]?.signalCode, Boolean)
  t.equal(children[0]?.signalCode, 'SIGKILL', 'its memory is freed')
  await renderTwice()
  t.equal(children.length, 2, 'the next PDF starts another process')
  const unsupported = { ...document, notes: 'ไทย ที่' }
  const refused = { ...oneLine, documentJson: JSON.stringify(unsupported), contentHash: 'thai' }
  await t.rejects(renderDocument(renderer, refused), { reason: 'pdf_unsupported', message: /U\+/ })
  t.equal(children.length, 2, 'that process is used')
  await eventually(async () => children[1]?.signalCode, Boolean)
  t.equal(children[1]?.signalCode, 'SIGKILL', 'also if its last quote has no PDF')
})

/** Calls `onStart` with each process that renders PDFs when it starts, until the test ends. */
function watchPdfProcesses(t: Test, onStart: (child: ChildProcess) => void): void {
  watchProcesses(t, 'pdf-process-main.ts', onStart)
}

function watchProcesses(t: Test, program: string, onStart: (child: ChildProcess) => void): void {
  const watch = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess }
    child.once('spawn', () => {
      if (child.spawnargs.some((word) => word.includes(program))) onStart(child)
    })
  }
  subscribe('child_process', watch)
  t.teardown(() => unsubscribe('child_process', watch))
}

const oneLine = {
  documentJson: JSON.stringify(document),
  contentHash: 'small',
  status: 'sent',
  language: null,
} as const

t.test('a PDF succeeds although its process does not run for longer than its limit', async (t) => {
  const maxProcessorMs = 2_000
  const renderer = new PdfRenderer(brand, {
    process: { maxProcessorMs },
    cache: { maxWaitMs: 120_000 },
  })
  t.teardown(() => renderer.close())
  let startCount = 0
  watchPdfProcesses(t, (child) => {
    startCount += 1
    child.kill('SIGSTOP')
    setTimeout(() => child.kill('SIGCONT'), maxProcessorMs + 1_000)
  })
  t.match((await renderDocument(renderer, oneLine)).pdf.subarray(0, 5).toString(), '%PDF-')
  t.equal(startCount, 1)
})

t.test('a PDF process that does not run is replaced, and the quote is not blamed', async (t) => {
  const renderer = new PdfRenderer(brand, {
    process: { maxElapsedMs: 500 },
    cache: { maxWaitMs: 120_000 },
  })
  t.teardown(() => renderer.close())
  const children: ChildProcess[] = []
  watchPdfProcesses(t, (child) => {
    children.push(child)
    child.kill('SIGSTOP')
  })
  const logged: unknown[] = []
  const render = () =>
    renderer.getOrRender(openLink, 'es', {
      readVerifiedDocument: async () => JSON.stringify(document),
      logFailure: (error) => logged.push(error),
    })
  const starved = {
    message: 'The PDF process hardly ran within 500 ms.',
    reason: 'starved',
    retryAfterMs: 5_000,
  }
  await t.rejects(render(), starved)
  t.equal(renderer.isBlocked(openLink, 'es'), false)
  await t.rejects(render(), starved, 'the next request renders again')
  t.equal(children.length, 2)
  t.match(logged, [{ message: /hardly ran/ }, { message: /hardly ran/ }])
  for (const child of children) {
    child.ref()
    if (child.signalCode === null) await once(child, 'exit')
    t.equal(child.signalCode, 'SIGKILL')
  }
})

/** Requests a quote until it is rendered. A busy machine may need longer than a request waits. */
const requestUntilReady = (app: FastifyInstance, url: string) =>
  eventually(
    () => app.inject(url),
    ({ body }) => !body.includes(quoteTexts.es.errors.rendering_pending.title),
    120_000,
  )

t.test('a customer who waits long for a PDF gets a page with a link to try again', async (t) => {
  replaceUntilEnd(t, timeouts.quotes.renderingWait, { ms: 50 })
  const metrics = createMetrics()
  const { app, db } = await testService(t, { index: false, metrics })
  const url = `/quote/share/${await insertSharedQuote(db, 'LARGE', generateLines(1000))}?format=pdf`
  const tooLate = await app.inject({ url, headers: { accept: 'text/html' } })
  t.equal(tooLate.statusCode, 503)
  t.equal(tooLate.headers['retry-after'], '5')
  t.match(tooLate.body, /Estamos preparando.*<a class="button" href="">Intentarlo de nuevo</s)
  const ready = await requestUntilReady(app, url)
  t.match(ready.rawPayload.subarray(0, 5).toString(), '%PDF-')
  t.equal(
    await readMetric(metrics, 'tqs_pdf_failures_total'),
    0,
    'a PDF that is not ready yet has not failed',
  )
})

t.test('a customer who waits for a PDF when the service stops gets the same page', async (t) => {
  replaceUntilEnd(t, timeouts.quotes.stopRendering, { ms: 50 })
  const lines: string[] = []
  const { app, db } = await testService(t, { index: false, log: (line) => lines.push(line) })
  const token = await insertSharedQuote(db, 'LARGE', generateLines(2000))
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  const { promise: started, resolve } = Promise.withResolvers<ChildProcess>()
  watchPdfProcesses(t, resolve)
  const answer = fetch(`${base}/quote/share/${token}?format=pdf`, {
    headers: { accept: 'text/html' },
  })
  // Starting the process and rendering take more than a second.
  await started
  const closed = app.close()
  const response = await answer
  t.equal(response.status, 503)
  t.equal(response.headers.get('retry-after'), '5')
  t.match(
    await response.text(),
    /Estamos preparando.*<a class="button" href="">Intentarlo de nuevo</s,
  )
  await closed
  t.notMatch(lines.join(''), '"level":50', 'it is no failure')
})

t.test('a rendering process performs its tasks one after the other', async (t) => {
  const pdfProcess = createPdfProcess()
  t.teardown(() => pdfProcess.stop())
  const prepared: string[] = []
  watchPdfProcesses(t, () => t.same(prepared, ['1'], 'the second one is not prepared yet'))
  const perform = (contentHash: string) =>
    pdfProcess.perform(async () => {
      prepared.push(contentHash)
      return { ...oneLine, contentHash, brand }
    })
  const first = perform('1')
  const second = perform('2')
  for (const { pdf } of [await first, await second])
    t.match(Buffer.from(pdf).toString('latin1'), /^%PDF-/)
  t.same(prepared, ['1', '2'])
})

t.test('a process that cannot be reached blocks no quote', async (t) => {
  const renderer = new PdfRenderer(brand)
  t.teardown(() => renderer.close())
  let isBroken = true
  watchPdfProcesses(t, (child) => {
    if (isBroken) setImmediate(() => child.emit('error', new Error('spawn EAGAIN')))
  })
  await t.rejects(renderDocument(renderer, oneLine), {
    message: /cannot be reached/,
    reason: 'process_unreachable',
    cause: { cause: { message: 'spawn EAGAIN' } },
  })
  isBroken = false
  // As Node leaves a process that it cannot start for lack of file descriptors.
  const removeChannel = (message: unknown) =>
    Object.defineProperty((message as { process: ChildProcess }).process, 'send', {
      get: () => undefined,
      set: () => undefined,
    })
  subscribe('child_process', removeChannel)
  t.teardown(() => unsubscribe('child_process', removeChannel))
  await t.rejects(renderDocument(renderer, oneLine), {
    message: /cannot be reached/,
    reason: 'process_unreachable',
  })
  unsubscribe('child_process', removeChannel)
  t.match((await renderDocument(renderer, oneLine)).pdf.subarray(0, 5).toString(), '%PDF-')
})

t.test('stopping ends a request whose process starts, even if it replaces another', async (t) => {
  const renderer = new PdfRenderer(brand, {
    process: replaceIdleAfter(0),
    cache: { cacheBytes: 0, maxWaitMs: 120_000 },
  })
  t.teardown(() => renderer.close())
  const children: ChildProcess[] = []
  watchPdfProcesses(t, (child) => {
    children.push(child)
    if (children.length === 2) renderer.close()
  })
  await renderDocument(renderer, oneLine)
  await eventually(async () => children[0]?.signalCode, Boolean)
  await t.rejects(renderDocument(renderer, oneLine), {
    message: 'The service is stopping.',
    reason: 'stopping',
  })
  t.equal(children.length, 2)
})

t.test('a page offers no PDF for a while after the PDF failed', async (t) => {
  watchPdfProcesses(t, (child) => child.kill('SIGKILL'))
  const metrics = createMetrics()
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const { app, db, token, url } = await startServiceWithLink(t, { metrics, log })
  const [{ id }] = (await listQuoteLinks(db, 'P-1')) as [ListedLink]
  t.match((await app.inject(url)).body, 'href="?format=pdf"')
  const failed = await app.inject(`${url}?format=pdf`)
  t.equal(failed.statusCode, 503)
  const { body } = await app.inject(url)
  t.notMatch(body, 'format=pdf')
  t.match(body, 'Martillo')
  t.match((await app.inject(`${url}?lang=en`)).body, 'format=pdf', 'its PDF did not fail')
  t.equal((await app.inject(`${url}?format=pdf`)).statusCode, 503)
  t.equal(await readMetric(metrics, 'tqs_pdf_failures_total'), 2)
  const errors = lines.filter((line) => line.includes('"level":50'))
  t.match(
    errors.map((line) => JSON.parse(line)),
    [
      {
        linkId: id,
        reason: 'rendering_failed',
        format: 'pdf',
        msg: 'quote not shown',
        err: { message: 'The PDF process ended (SIGKILL).' },
      },
    ],
    'it is logged once, with the id of the link',
  )
  t.notMatch(lines.join(''), token)
})

t.test('large pages are rendered by one process, and cached', async (t) => {
  let processCount = 0
  watchProcesses(t, 'large-page-process-main.ts', () => {
    processCount += 1
  })
  const { app, db } = await testService(t, { index: false })
  const token = await insertSharedQuote(db, 'LARGE', generateLines(2000))
  const url = `/quote/share/${token}`
  const responses = await Promise.all(Array.from({ length: 5 }, () => app.inject(url)))
  for (const { statusCode, body } of responses) {
    t.equal(statusCode, 200)
    t.equal(body.match(/<tr role="row">/g)?.length, 2001)
  }
  const json = (await app.inject(`${url}?format=json`)).json()
  t.equal(json.document.lines.length, 2000)
  t.equal(processCount, 1)
  await sql`alter function read_quote_share_document(bytea) rename to hidden`.execute(db)
  t.equal((await app.inject(url)).body, responses[0]?.body, 'a cached page needs no document')
  await sql`update quote_shares set revoked_at = now()`.execute(db)
  t.equal((await app.inject(url)).statusCode, 410, 'a cached page is not sent after a revocation')
})

t.test(
  'a link that is closed while it waits does not fail other links to the same quote',
  async (t) => {
    const renderer = new PageRenderer({ brand, offersReplies: true })
    t.teardown(() => renderer.close())
    const large = { ...openLink, documentBytes: 2 * maxMainThreadDocumentBytes }
    const render = (linkId: string, readVerifiedDocument: () => Promise<string>) =>
      renderer.getOrRender(
        { ...large, linkId },
        { format: 'json' },
        { readVerifiedDocument, logFailure: () => t.fail('a closed link is no failure') },
      )
    const closed = render('1', async () => {
      throw new QuoteFailure('link_revoked')
    })
    const open = render('2', async () => JSON.stringify(document))
    await t.rejects(closed, { message: /revoked/, reason: 'link_revoked' })
    t.ok((await open).content.gzip.length > 0)
  },
)

t.test('a page that is too large is not rendered again', async (t) => {
  const children: ChildProcess[] = []
  watchProcesses(t, 'large-page-process-main.ts', (child) => children.push(child))
  const renderer = new PageRenderer({ brand, offersReplies: true })
  t.teardown(() => renderer.close())
  // 4 MB in the document, and five times as much as HTML: "&amp;".
  const description = '&'.repeat(2_000)
  const lines = Array.from({ length: 2_000 }, (_, position) => ({
    ...hammer,
    position,
    description,
  }))
  const documentJson = JSON.stringify({ ...document, lines })
  const link = { ...openLink, documentBytes: documentJson.length }
  const logged: unknown[] = []
  const render = () =>
    renderer.getOrRender(
      link,
      { format: 'html', language: 'es', offersPdf: true },
      { readVerifiedDocument: async () => documentJson, logFailure: (error) => logged.push(error) },
    )
  await t.rejects(render(), { message: /more than 16000000/, reason: 'rendering_too_large' })
  const again = await render().catch((error: QuoteFailure) => error)
  t.match(again, { message: /failed before/, reason: 'rendering_too_large' })
  t.match(again, { retryAfterMs: null }, 'the visitor is not asked to try again')
  t.equal(logged.length, 1)
  t.equal(children.length, 1)
  t.equal(children[0]?.signalCode, null, 'the process can render other pages')
})

t.test('one process renders many large pages', async (t) => {
  let processCount = 0
  watchProcesses(t, 'large-page-process-main.ts', () => {
    processCount += 1
  })
  const { app, db } = await testService(t, { index: false })
  const tokens = [
    await insertSharedQuote(db, 'FIRST', generateLines(2000)),
    await insertSharedQuote(db, 'SECOND', generateLines(1999)),
  ]
  const urls = tokens.flatMap((token) =>
    languages.map((language) => `/quote/share/${token}?lang=${language}`),
  )
  for (const url of urls) {
    t.equal((await requestUntilReady(app, url)).statusCode, 200, url)
  }
  t.equal(processCount, 1)
})

t.test(
  'a small quote that cannot be rendered gets 503, logged with the id of its link',
  async (t) => {
    const lines: string[] = []
    const log = (line: string) => lines.push(line)
    const { app, db, token, url } = await startServiceWithLink(t, { log })
    await sql`alter table quote_shares disable trigger guard`.execute(db)
    const document = sql`'{"language": "es"}'`
    await sql`
    update quote_shares
    set document = ${document}, content_hash = encode(sha256(${document}::bytea), 'hex')
  `.execute(db)
    const response = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(response.statusCode, 503)
    const tryAgain = `<a class="button" href="">${quoteTexts.es.tryAgain}</a>`
    t.match(response.body, tryAgain)
    t.notMatch(response.body, 'format=html', 'no link to the page that has just failed')
    const pdf = await app.inject({ url: `${url}?format=pdf`, headers: { accept: 'text/html' } })
    t.equal(pdf.statusCode, 503)
    t.match(pdf.body, `href="?format=html">${quoteTexts.es.openPage}`)
    const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
    t.match(errors, [
      { linkId: '1', format: 'html', reason: 'rendering_failed', err: { type: 'TypeError' } },
      { linkId: '1', format: 'pdf', reason: 'rendering_failed' },
    ])
    t.equal(errors.length, 2)
    t.notMatch(lines.join(''), token)
  },
)

t.test('a large document that was altered or cannot be read is not shown (S41)', async (t) => {
  const metrics = createMetrics()
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const { app, db } = await testService(t, { index: false, metrics, log })
  const url = `/quote/share/${await insertSharedQuote(db, 'LARGE', generateLines(200))}`
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
  const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
  t.match(
    errors.at(-1)?.err,
    { message: /does not match its hash/, stack: /link-access\.ts:\d+/ },
    'the log shows where that was found',
  )
})
