// The response bodies of /api/stats: JSON and CSV, encodings, ETags and `asOf`.
// Numbers such as S25 are those of the attacks in docs/security.md.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import t from 'tap'
import { exampleStats } from '../../src/stats/openapi-examples.ts'
import { formatCsv, formatTextCell } from '../../src/stats/stats-csv.ts'
import { languages } from '../../src/texts/languages.ts'
import { eventually } from '../support/eventually.ts'
import { insertQuote, insertQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import { statsService, statsUntil } from './stats-service.ts'

const service = await statsService(t)
await insertQuotes(service.db, [
  buildQuote('1', { net: '1234.50' }),
  buildQuote('2', { issued_on: '2025-03-15', decided_on: '2025-03-20', net: '2000.00' }),
])

const asOfPattern = /(?:"asOf":"|^asOf[,;])([^",;]+)(?:",|[,;]+\r\n)/m
const decoders = { identity: (bytes: Buffer) => bytes, gzip: gunzipSync, br: brotliDecompressSync }
type Encoding = keyof typeof decoders
const encodings = Object.keys(decoders) as Encoding[]

/** Requests a body, and returns it without `asOf`. Checks the headers that each response has. */
async function request(query: string, encoding: Encoding, headers: Record<string, string> = {}) {
  const response = await service.app.inject({
    url: `/api/stats${query}`,
    headers: { 'accept-encoding': encoding, ...headers },
  })
  const { vary, etag, age, 'cache-control': cacheControl } = response.headers
  t.match(
    { vary, etag, age, cacheControl },
    {
      vary: 'accept, accept-encoding',
      etag: /^W\/"[\w-]+"$/,
      age: /^\d+$/,
      cacheControl: 'private, no-cache',
    },
  )
  const { statusCode: status, rawPayload } = response
  if (status === 304) return { status, etag, asOf: '', text: response.body }
  t.equal(response.headers['content-encoding'], encoding === 'identity' ? undefined : encoding)
  t.equal(Number(response.headers['content-length']), rawPayload.length)
  const text = decoders[encoding](rawPayload).toString()
  return {
    status,
    etag,
    asOf: asOfPattern.exec(text)?.[1] ?? '',
    text: text.replace(asOfPattern, ''),
  }
}

/** The last one is large enough to be compressed in another thread. */
const queries = [
  ...['', '?format=csv', '?format=csv&locale=es', '?format=csv&locale=en'],
  ...['', '&format=csv'].map((format) => `?from=1900-01-01&to=2026-12-31${format}`),
]

t.test('encodings have one text and one ETag, which stays while asOf advances', async (t) => {
  const etags = await Promise.all(
    queries.map(async (query) => {
      const first = await request(query, 'identity')
      for (const encoding of encodings) {
        const later = await eventually(
          () => request(query, encoding),
          ({ asOf }) => asOf > first.asOf,
        )
        t.ok(later.asOf > first.asOf, `${query} ${encoding}: ${first.asOf}, ${later.asOf}`)
        t.same([later.etag, later.text], [first.etag, first.text], 'nothing else has changed')
        for (const tag of [first.etag, `"other", ${String(first.etag).replace('W/', '')}`, '*'])
          t.match(await request(query, encoding, { 'if-none-match': String(tag) }), {
            ...{ status: 304, etag: first.etag, text: '' },
          })
      }
      return first.etag
    }),
  )
  t.equal(new Set(etags).size, queries.length, 'a distinct ETag for each text')
  const [browser, head] = await Promise.all([
    service.app.inject({
      url: '/api/stats',
      headers: { 'accept-encoding': 'gzip, deflate, br, zstd' },
    }),
    service.app.inject({ method: 'HEAD', url: '/api/stats' }),
  ])
  t.equal(browser.headers['content-encoding'], 'br')
  t.same([head.statusCode, head.body], [200, ''])
})

t.test('format takes precedence over Accept, and other types are refused', async (t) => {
  const csv = 'text/csv; charset=utf-8; header=present'
  const json = 'application/json; charset=utf-8'
  for (const [query, accept, type] of [
    ['', undefined, json],
    ['', '*/*', json],
    ['', 'text/html, */*;q=0.1', json],
    ['', 'application/json;q=0.5, text/csv', csv],
    ['?format=json', 'text/csv', json],
    ['?format=csv', 'application/json', csv],
    ['', 'image/png', undefined],
  ] as const) {
    const { statusCode, headers } = await service.app.inject({
      url: `/api/stats${query}`,
      ...(accept !== undefined && { headers: { accept } }),
    })
    t.equal(statusCode, type ? 200 : 406, `${query} ${accept}`)
    t.equal(headers['content-type'], type ?? 'application/problem+json; charset=utf-8')
    t.equal(
      headers['content-disposition'],
      type === csv ? 'attachment; filename="stats-2025-03-15-2026-03-10.csv"' : undefined,
    )
  }
})

t.test('CSV for a spreadsheet has the separators of its language', async (t) => {
  const query = '?compare=previous_year&from=2026-03-01&to=2026-04-30&format=csv'
  const { text } = await request(query, 'identity')
  t.match(text, /^change,,0\.0000,0\.0000,-0\.3828,+\r$/m)
  const withCommas = parse(text)
    .map((row: string[]) => row.map((cell) => cell.replace(/^(-?\d+)\.(\d+)$/, '$1,$2')).join(';'))
    .join('\r\n')
  for (const locale of languages) {
    const localized = await request(`${query}&locale=${locale}`, 'identity')
    t.equal(localized.text, `\ufeff${locale === 'en' ? text : `${withCommas}\r\n`}`, locale)
  }
})

t.test('the row of a country in CSV has each of its figures', async (t) => {
  const [example] = exampleStats.byCountry
  if (!example) throw new Error('There is no example')
  const numbers = new Map<string, string>()
  /** Returns a copy in which each figure is a different number. */
  const numberFigures = <Value>(value: Value, path = ''): Value => {
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          numberFigures(member, `${path}.${name}`),
        ]),
      ) as Value
    if (/\.(country|currency)$/.test(path)) return value
    numbers.set(path, String(1_000 + numbers.size))
    return numbers.get(path) as Value
  }
  const csv = formatCsv({ ...exampleStats, byCountry: [numberFigures(example)] }, 'csv')
  const cells = csv.match(/^country,.*$/m)?.[0].split(',') ?? []
  t.same(
    [...numbers].flatMap(([path, number]) => (cells.includes(number) ? [] : [path])),
    // The columns `accepted` and `revenue` have the first two. The last one has rows of its own.
    ['.byStatus.accepted', '.money.won.amount', '.daysToDecision.quotes'],
    'a figure without a column: add one in src/stats/stats-csv.ts',
  )
})

t.test('every change that was committed before asOf is contained', async (t) => {
  let etag: unknown
  for (const total of [3, 4]) {
    await insertQuote(service.db, String(total))
    const committedAt = Date.now()
    const earlier: string[] = []
    const shown = await statsUntil(service, (result) => {
      t.ok(result.asOf <= Date.now(), 'not later than now')
      t.ok(result.asOf >= result.sentAt - (result.age + 2) * 1_000, 'not earlier than Age allows')
      if (result.total !== total && result.asOf > committedAt) earlier.push(`${result.asOf}`)
      return result.total === total && result.asOf >= committedAt
    })
    t.same(earlier, [])
    t.ok(shown.total === total && shown.asOf >= committedAt)
    t.not(shown.response.headers.etag, etag, 'another ETag after a change')
    etag = shown.response.headers.etag
  }
})

t.test('a spreadsheet runs no text cell as a formula (S25)', async (t) => {
  for (const sign of ['=', '+', '-', '@', '＝', '＋', '－', '＠'])
    for (const before of ['', ' ', '\t', '\r', '\u00a0', '\u0000', '\u200b', '\ufeff', ' \n'])
      t.match(formatTextCell(`${before}${sign}cmd|' /C calc'!A0`), /^"?'/, before + sign)
  for (const start of ['\t', '\r']) t.match(formatTextCell(`${start}text`), /^"'/)
  for (const text of ['ES', 'unknown', 'total', '2026-03', '']) t.equal(formatTextCell(text), text)
  fc.assert(
    fc.property(fc.string(), (text) => {
      const [[cell] = []] = parse(`${formatTextCell(text)}\r\n`, {
        relax_column_count: true,
        skip_empty_lines: false,
      }) as string[][]
      return text === '' || cell === text || cell === `'${text}`
    }),
    { seed: 25 },
  )
})
