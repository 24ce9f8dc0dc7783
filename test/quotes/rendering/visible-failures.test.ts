// What a visitor sees while a rendering takes long, and after it has failed.

import type { ChildProcess } from 'node:child_process'
import { sql } from 'kysely'
import t from 'tap'
import {
  generateLines,
  insertLinkedQuote,
} from '../../../scripts/bench/support/data/linked-quotes.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import { type ListedLink, listQuoteLinks } from '../../../src/quotes/links/manage-links.ts'
import { stopRenderingTimeout } from '../../../src/quotes/quote-link-handler.ts'
import { renderingWait } from '../../../src/quotes/rendering/rendering-cache.ts'
import { textsByLanguage } from '../../../src/texts/languages.ts'
import { requestUntilReady, watchPdfProcesses } from '../../support/quotes/rendering-processes.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'
import { testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

t.test('a customer who waits long for a PDF gets a page with a link to try again', async (t) => {
  replaceUntilEnd(t, renderingWait, { ms: 50 })
  const metrics = createMetrics()
  const { app, db } = await testService(t, { index: false, metrics })
  const url = `/quote/share/${await insertLinkedQuote(db, 'LARGE', generateLines(1000))}?format=pdf`
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
  replaceUntilEnd(t, stopRenderingTimeout, { ms: 50 })
  const lines: string[] = []
  const { app, db } = await testService(t, { index: false, log: (line) => lines.push(line) })
  const token = await insertLinkedQuote(db, 'LARGE', generateLines(2000))
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
    const tryAgain = `<a class="button" href="">${textsByLanguage.es.quotes.tryAgain}</a>`
    t.match(response.body, tryAgain)
    t.notMatch(response.body, 'format=html', 'no link to the page that has just failed')
    const pdf = await app.inject({ url: `${url}?format=pdf`, headers: { accept: 'text/html' } })
    t.equal(pdf.statusCode, 503)
    t.match(pdf.body, `href="?format=html">${textsByLanguage.es.quotes.openPage}`)
    const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
    t.match(errors, [
      { linkId: '1', format: 'html', reason: 'rendering_failed', err: { type: 'TypeError' } },
      { linkId: '1', format: 'pdf', reason: 'rendering_failed' },
    ])
    t.equal(errors.length, 2)
    t.notMatch(lines.join(''), token)
  },
)
