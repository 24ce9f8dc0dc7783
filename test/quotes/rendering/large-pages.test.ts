// Large pages and JSON, which a process of their own renders.
// Numbers such as S41 are those of the attacks in docs/security.md.
import type { ChildProcess } from 'node:child_process'
import { sql } from 'kysely'
import t from 'tap'
import {
  generateLines,
  insertLinkedQuote,
} from '../../../scripts/bench/support/data/linked-quotes.ts'
import { defaultBrand as brand } from '../../../src/company/brand.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import { QuoteFailure } from '../../../src/quotes/failures.ts'
import { PageRenderer } from '../../../src/quotes/page/page-renderer.ts'
import { maxMainThreadDocumentBytes } from '../../../src/quotes/rendering/rendering-limits.ts'
import { languages } from '../../../src/texts/languages.ts'
import { document, hammer, openLink } from '../../support/quotes/linked-quote.ts'
import { requestUntilReady, watchProcesses } from '../../support/quotes/rendering-processes.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

t.test('large pages are rendered by one process, and cached', async (t) => {
  let processCount = 0
  watchProcesses(t, 'large-page-process-main.ts', () => {
    processCount += 1
  })
  const { app, db } = await testService(t, { index: false })
  const token = await insertLinkedQuote(db, 'LARGE', generateLines(2000))
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
    const renderer = new PageRenderer({ brand, offersReplies: true, timeZone: 'UTC' })
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
  const renderer = new PageRenderer({ brand, offersReplies: true, timeZone: 'UTC' })
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
    await insertLinkedQuote(db, 'FIRST', generateLines(2000)),
    await insertLinkedQuote(db, 'SECOND', generateLines(1999)),
  ]
  const urls = tokens.flatMap((token) =>
    languages.map((language) => `/quote/share/${token}?lang=${language}`),
  )
  for (const url of urls) {
    t.equal((await requestUntilReady(app, url)).statusCode, 200, url)
  }
  t.equal(processCount, 1)
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
  const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
  t.match(
    errors.at(-1)?.err,
    { message: /does not match its hash/, stack: /link-access\.ts:\d+/ },
    'the log shows where that was found',
  )
})
