// The encoding of a response, by the Accept-Encoding header of the request.
import t from 'tap'
import { chooseEncoding } from '../../src/http/compressed-content.ts'

t.test('the client decides, and the best compression among equals is used', async (t) => {
  for (const [accepted, expected] of [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['identity;q=1, gzip;q=0.5', 'identity'],
    ['zstd', 'identity'],
    ['identity;q=0, *;q=0', 'identity'],
  ] as const) {
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
    t.equal(chooseEncoding(headers), expected, accepted ?? 'no header')
  }
})
