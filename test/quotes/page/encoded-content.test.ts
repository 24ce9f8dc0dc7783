// Pages and JSON are compressed once, when they are rendered, and sent as the client accepts.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import {
  generateLines,
  insertLinkedQuote,
} from '../../../scripts/bench/support/data/linked-quotes.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'

waitLongForRenderings(t)

t.test('pages and JSON are compressed as the client accepts', async (t) => {
  const { app, db, token: small } = await startServiceWithLink(t)
  const large = await insertLinkedQuote(db, 'LARGE', generateLines(2000))
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
