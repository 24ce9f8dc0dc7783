// Large quotes cannot hurt: limits on sharing, time and memory of renderings, remembered failures,
// a main thread that keeps answering, and compression.
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { sql } from 'kysely'
import t from 'tap'
import { generateLines, insertSharedQuote } from '../../scripts/bench/support/shared-quotes.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { createShareLink } from '../../src/quotes/links/share-links.ts'
import { recordShareSettings } from '../../src/quotes/links/share-settings.ts'
import { PdfRenderer } from '../../src/quotes/pdf/pdf-renderer.ts'
import { RenderingQueue } from '../../src/quotes/rendering/rendering-queue.ts'
import { addQuote } from '../support/add-quote.ts'
import { document, hammer, withDocument } from '../support/shared-quote.ts'
import { testDatabase, testService } from '../support/test-service.ts'

const allowLines = (db: Database, maxLines: number) =>
  recordShareSettings(db, { maxLines, retentionDays: 400 })

t.test('a quote with too many lines or too much text cannot be shared', async (t) => {
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

t.test('a PDF process that needs too much memory ends, and the next one works', async (t) => {
  const renderer = new PdfRenderer({ maxDataBytes: 1_000e6 })
  t.teardown(() => renderer.close())
  const lines = Array.from({ length: 4_000 }, (_, index) => ({ ...hammer, position: index + 1 }))
  const large = {
    document: JSON.stringify(withDocument({ lines }).document),
    contentHash: 'large',
    status: 'sent',
    language: null,
  } as const
  await t.rejects(renderer.render(large), { message: /The PDF process ended \(SIG|\(\d+\)/ })
  const began = performance.now()
  await t.rejects(renderer.render(large), { message: /It failed before/, isKnown: true })
  t.ok(performance.now() - began < 100, 'the failure is remembered')
  const small = { ...large, document: JSON.stringify(document), contentHash: 'small' }
  t.match((await renderer.render(small)).pdf.subarray(0, 5).toString(), '%PDF-')
})

t.test('a failed rendering is tried again after a pause, which doubles', async (t) => {
  let now = 1_000_000
  const original = Date.now
  Date.now = () => now
  t.teardown(() => {
    Date.now = original
  })
  const queue = new RenderingQueue<Buffer>({ cacheBytes: 1000, getBytes: ({ length }) => length })
  let attempts = 0
  const fail = async () => {
    attempts += 1
    throw new Error('too large')
  }
  const pauses: number[] = []
  for (let n = 0; n < 10; n += 1) {
    const error = await queue.render('key', fail).catch((error) => error)
    t.equal(attempts, n + 1)
    await t.rejects(queue.render('key', fail), { message: 'It failed before: too large' })
    t.equal(attempts, n + 1)
    pauses.push(error.retryAfterMs / 1000)
    now += error.retryAfterMs
  }
  t.same(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
  const content = Buffer.from('x')
  t.equal(await queue.render('key', async () => content), content)
})

t.test('a rendering that waits too long in the queue is rejected and not remembered', async (t) => {
  const queue = new RenderingQueue<Buffer>({
    cacheBytes: 1000,
    getBytes: ({ length }) => length,
    maxWaitMs: 20,
  })
  const content = Buffer.from('x')
  const slow = queue.render('slow', async () => {
    await sleep(100)
    return content
  })
  await t.rejects(
    queue.render('late', async () => content),
    { message: /waited too long/, isKnown: false },
  )
  t.equal(await slow, content)
  t.equal(await queue.render('late', async () => content), content)
})

t.test('large pages are rendered in another thread, once, and cached', async (t) => {
  const { app, db } = await testService(t, { index: false })
  const token = await insertSharedQuote(db, 'LARGE', generateLines(2000))
  const url = `/quote/share/${token}`
  let longestPauseMs = 0
  let previous = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longestPauseMs = Math.max(longestPauseMs, now - previous)
    previous = now
  }, 1)
  const responses = await Promise.all(Array.from({ length: 5 }, () => app.inject(url)))
  clearInterval(timer)
  for (const { statusCode, body } of responses) {
    t.equal(statusCode, 200)
    t.equal(body.match(/<tr role="row">/g)?.length, 2001)
  }
  t.comment(`longest pause of the main thread: ${longestPauseMs.toFixed(1)} ms`)
  const began = performance.now()
  t.equal((await app.inject(url)).body, responses[0]?.body)
  t.comment(`from the cache: ${(performance.now() - began).toFixed(1)} ms`)
  const json = (await app.inject(`${url}?format=json`)).json()
  t.equal(json.document.lines.length, 2000)
  await sql`update quote_shares set revoked_at = now()`.execute(db)
  t.equal((await app.inject(url)).statusCode, 410, 'a cached page is not sent after a revocation')
})

t.test('pages and JSON are compressed as the client accepts', async (t) => {
  const { app, db } = await testService(t, { index: false })
  await addQuote(db, 'P-1')
  const small = await createShareLink(db, { number: 'P-1' })
  const large = await insertSharedQuote(db, 'LARGE', generateLines(2000))
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
    ]) {
      const response = await app.inject({ url, headers: { 'accept-encoding': accepted } })
      t.equal(response.headers['content-encoding'], encoding, `${format} ${accepted}`)
      const bytes = response.rawPayload
      const decoded =
        encoding === 'br'
          ? brotliDecompressSync(bytes)
          : encoding === 'gzip'
            ? gunzipSync(bytes)
            : bytes
      t.ok(decoded.equals(plain.rawPayload), `${format} ${accepted}`)
    }
  }
})
