// The response bodies of /api/stats: JSON and CSV, encodings, ETags.
// Numbers such as S25 are those of the attacks in docs/security.md.
import { randomBytes } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { exampleStats } from '../../src/stats/openapi-examples.ts'
import { ResponseBodies } from '../../src/stats/response-body.ts'
import { formatCsv, formatTextCell } from '../../src/stats/stats-csv.ts'
import { languages } from '../../src/texts/languages.ts'
import { eventually } from '../support/eventually.ts'
import { insertQuote, insertQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import { requestStats, serviceBehindFaultyProxy, statsService } from './stats-service.ts'

async function serviceWithQuotes(t: Test) {
  const service = await statsService(t)
  await insertQuotes(service.db, [
    buildQuote('1', { net: '1234.50' }),
    buildQuote('2', { currency: 'JPY', rate: null, net: '5000', country: null }),
    buildQuote('3', { status: 'rejected', decided_on: '2026-03-18', country: 'FR' }),
    buildQuote('4', { issued_on: '2025-03-15', decided_on: '2025-03-20', net: '2000.00' }),
  ])
  return service
}

/** The header and the rows of the CSV. Empty cells at the end of a row are left out here. */
const csvColumns =
  'dimension,key,quotes,accepted,revenue,currency,draft,sent,rejected,expired,withdrawn,open,' +
  'lost,withdrawnNet,ofSent,ofDecided,ofSentValue,ofDecidedValue,meanDays,medianDays'
const csvRows = `
total,2026-03-01/2026-04-30,3,2,1234.50,EUR,0,0,1,0,0,0.00,100.00,0.00,\
0.6667,0.6667,0.9251,0.9251,18.0,23.0
status,draft,0
status,sent,0
status,accepted,2
status,rejected,1
status,expired,0
status,withdrawn,0
acceptance,ofSent,,0.6667,,,,,,,,,,,0.6667
acceptance,ofDecided,,0.6667,,,,,,,,,,,,0.6667
acceptance,ofSentValue,,,,,,,,,,,,,,,0.9251
acceptance,ofDecidedValue,,,,,,,,,,,,,,,,0.9251
money,open,,,,EUR,,,,,,0.00
money,won,,,1234.50,EUR
money,lost,,,,EUR,,,,,,,100.00
money,withdrawn,,,,EUR,,,,,,,,0.00
daysToDecision,quotes,3
daysToDecision,mean,,,,,,,,,,,,,,,,,18.0
daysToDecision,median,,,,,,,,,,,,,,,,,,23.0
average,,,,1234.50,EUR
currency,EUR,,1,1234.50,EUR
currency,JPY,,1,5000,JPY
unconverted,JPY,,1,5000,JPY
country,ES,1,1,1234.50,EUR,0,0,0,0,0,0.00,0.00,0.00,1.0000,1.0000,1.0000,1.0000,23.0,23.0
country,FR,1,0,0.00,EUR,0,0,1,0,0,0.00,100.00,0.00,0.0000,0.0000,0.0000,0.0000,8.0,8.0
country,unknown,1,1,0.00,EUR,0,0,0,0,0,0.00,0.00,0.00,1.0000,1.0000,,,23.0,23.0
month,2026-03,3,2,1234.50,EUR,0,0,1,0,0,0.00,100.00,0.00,0.6667,0.6667,0.9251,0.9251,18.0,23.0
month,2026-04,0,0,0.00,EUR,0,0,0,0,0,0.00,0.00,0.00
comparison total,2025-03-01/2025-04-30,1,1,2000.00,EUR,0,0,0,0,0,0.00,0.00,0.00,\
1.0000,1.0000,1.0000,1.0000,5.0,5.0
comparison status,draft,0
comparison status,sent,0
comparison status,accepted,1
comparison status,rejected,0
comparison status,expired,0
comparison status,withdrawn,0
comparison acceptance,ofSent,,1.0000,,,,,,,,,,,1.0000
comparison acceptance,ofDecided,,1.0000,,,,,,,,,,,,1.0000
comparison acceptance,ofSentValue,,,,,,,,,,,,,,,1.0000
comparison acceptance,ofDecidedValue,,,,,,,,,,,,,,,,1.0000
comparison money,open,,,,EUR,,,,,,0.00
comparison money,won,,,2000.00,EUR
comparison money,lost,,,,EUR,,,,,,,0.00
comparison money,withdrawn,,,,EUR,,,,,,,,0.00
comparison daysToDecision,quotes,1
comparison daysToDecision,mean,,,,,,,,,,,,,,,,,5.0
comparison daysToDecision,median,,,,,,,,,,,,,,,,,,5.0
comparison average,,,,2000.00,EUR
comparison currency,EUR,,1,2000.00,EUR
change,,2.0000,1.0000,-0.3828
`

function expectedCsv(): string {
  const columns = csvColumns.split(',').length
  const rows = csvRows
    .trim()
    .split('\n')
    .map((row) => {
      const cells = row.trim().split(',')
      return [...cells, ...Array(columns - cells.length).fill('')].join(',')
    })
  return [csvColumns, ...rows].map((row) => `${row}\r\n`).join('')
}

type ContentEncoding = 'identity' | 'gzip' | 'br'

const decode = (bytes: Buffer, encoding: ContentEncoding) =>
  ({ identity: (b: Buffer) => b, gzip: gunzipSync, br: brotliDecompressSync })
    [encoding](bytes)
    .toString()

const asOfPattern = /(?:"asOf":"|^asOf[,;])([^",;]+)(?:",|[,;]+\r\n)/m
/** The instant in a body, as JSON or CSV. */
const asOfIn = (body: string) => asOfPattern.exec(body)?.[1] ?? ''
const withoutAsOf = (body: string) => body.replace(asOfPattern, '')

const twoMonths = 'from=2026-03-01&to=2026-04-30&compare=previous_year'

t.test('CSV contains the same numbers in long form', async (t) => {
  const { app } = await serviceWithQuotes(t)
  const response = await app.inject({
    url: `/api/stats?${twoMonths}`,
    headers: { accept: 'text/csv' },
  })
  t.equal(response.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  t.equal(
    response.headers['content-disposition'],
    'attachment; filename="stats-2026-03-01-2026-04-30.csv"',
    'the file is named after its period',
  )
  t.match(response.body, /\r\nasOf,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ,{18}\r\ntotal,/)
  t.equal(withoutAsOf(response.body), expectedCsv())
  const spanish = await app.inject(`/api/stats?${twoMonths}&format=csv&locale=es`)
  t.match(spanish.body, /\r\nasOf;\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ;{18}\r\ntotal;/)
  t.match(spanish.body, /^total;2026-03-01\/2026-04-30;3;2;1234,50;EUR;.*;0,9251;18,0;23,0\r$/m)
  t.match(spanish.body, /^change;;2,0000;1,0000;-0,3828;+\r$/m, 'a negative number stays a number')
  t.equal(parse(spanish.body, { delimiter: ';' }).length, parse(response.body).length)
  for (const locale of languages) {
    const { body } = await app.inject(`/api/stats?${twoMonths}&format=csv&locale=${locale}`)
    const expected = locale === 'en' ? response.body : spanish.body
    t.equal(withoutAsOf(body), `\ufeff${withoutAsOf(expected).replace(/^\ufeff/, '')}`, locale)
  }
})

t.test('the row of a country in CSV has each of its figures', async (t) => {
  const [example] = exampleStats.byCountry
  if (!example) throw new Error('There is no example')
  const { country, ...group } = example
  const numbers = new Map<string, string>()
  /** Returns a copy in which each figure is a different number. */
  const numberFigures = (value: unknown, path: string): unknown => {
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          name === 'currency' ? member : numberFigures(member, `${path}.${name}`),
        ]),
      )
    const number = String(1_000 + numbers.size)
    numbers.set(path, number)
    return number
  }
  const numbered = { country, ...(numberFigures(group, 'group') as typeof group) }
  const csv = formatCsv({ ...exampleStats, byCountry: [numbered] }, 'csv')
  const cells = csv.match(/^country,.*$/m)?.[0].split(',') ?? []
  t.same(
    [...numbers].flatMap(([path, number]) => (cells.includes(number) ? [] : [path])),
    // The columns `accepted` and `revenue` have the first two. The last one has rows of its own.
    ['group.byStatus.accepted', 'group.money.won.amount', 'group.daysToDecision.quotes'],
    'a figure without a column: add one in src/stats/stats-csv.ts',
  )
})

t.test('format takes precedence over Accept; unsupported formats are 406 or 400', async (t) => {
  const { app } = await serviceWithQuotes(t)
  const type = async (url: string, accept?: string) => {
    const { statusCode, headers } = await app.inject({
      url,
      headers: accept === undefined ? {} : { accept },
    })
    return `${statusCode} ${String(headers['content-type']).split(';')[0]}`
  }
  t.equal(await type('/api/stats'), '200 application/json')
  t.equal(await type('/api/stats', '*/*'), '200 application/json')
  t.equal(await type('/api/stats', 'text/html, */*;q=0.1'), '200 application/json')
  t.equal(await type('/api/stats', 'application/json;q=0.5, text/csv'), '200 text/csv')
  t.equal(await type('/api/stats?format=json', 'text/csv'), '200 application/json')
  t.equal(await type('/api/stats?format=csv', 'application/json'), '200 text/csv')
  t.equal(await type('/api/stats', 'image/png'), '406 application/problem+json')
  for (const [query, parameter] of [
    ['format=xml', 'format'],
    ['locale=nl', 'locale'],
    ['from=1700-01-01&to=2026-01-01', 'from'],
  ] as const) {
    const response = await app.inject(`/api/stats?${query}`)
    t.match([response.statusCode, response.json()], [400, { errors: [{ parameter }] }], query)
  }
})

t.test(
  'each format has one weak ETag for all encodings, and Vary names the headers it depends on',
  async (t) => {
    const { app } = await serviceWithQuotes(t)
    const etags = new Set<unknown>()
    for (const query of ['', '?format=csv', '?format=csv&locale=es']) {
      const url = `/api/stats${query}`
      const texts = new Set<string>()
      const etagsOfFormat = new Set<unknown>()
      for (const encoding of ['identity', 'gzip', 'br'] as const) {
        const response = await app.inject({ url, headers: { 'accept-encoding': encoding } })
        const { etag, vary } = response.headers
        t.equal(vary, 'accept, accept-encoding')
        t.equal(
          response.headers['content-encoding'],
          encoding === 'identity' ? undefined : encoding,
        )
        t.equal(Number(response.headers['content-length']), response.rawPayload.length)
        texts.add(withoutAsOf(decode(response.rawPayload, encoding)))
        etagsOfFormat.add(etag)
        const conditional = await app.inject({
          url,
          headers: { 'accept-encoding': encoding, 'if-none-match': String(etag) },
        })
        const { statusCode, body, headers } = conditional
        t.match([statusCode, body, headers.etag, headers.vary], [304, '', etag, vary])
      }
      t.equal(texts.size, 1, 'the same content in every encoding')
      t.equal(etagsOfFormat.size, 1)
      for (const etag of etagsOfFormat) etags.add(etag)
    }
    t.equal(etags.size, 3, 'a distinct ETag for each format')
    const browser = await app.inject({
      url: '/api/stats',
      headers: { 'accept-encoding': 'gzip, deflate, br, zstd' },
    })
    t.equal(browser.headers['content-encoding'], 'br')
    const head = await app.inject({ method: 'HEAD', url: '/api/stats' })
    t.same([head.statusCode, head.body], [200, ''])
  },
)

t.test('large bodies are compressed once, in another thread', async (t) => {
  const months = Array.from({ length: 600 }, () => exampleStats.byMonth).flat()
  let resized = 0
  const bodies = new ResponseBodies({ ...exampleStats, byMonth: months }, () => {
    resized += 1
  })
  const asOf = '2026-11-21T10:00:00Z'
  for (const format of ['json', 'csv'] as const) {
    const plain = await bodies.get(format, 'identity', asOf)
    for (const encoding of ['gzip', 'br'] as const) {
      const before = resized
      const compressing = bodies.get(format, encoding, asOf)
      t.ok(compressing instanceof Promise)
      t.equal(bodies.get(format, encoding, asOf), compressing, 'callers share the promise')
      t.equal(decode(await compressing, encoding), plain.toString())
      t.equal(bodies.get(format, encoding, asOf), await compressing, 'the body is kept')
      t.equal(resized, before + 1)
    }
  }
})

t.test('a body that took long to compress does not replace one with a later asOf', async (t) => {
  const months = Array.from({ length: 600 }, () => exampleStats.byMonth).flat()
  const { asOf: _, ...stats } = exampleStats
  const bodies = new ResponseBodies({ ...stats, byMonth: months })
  // So long that compressing the first body takes longer than compressing the second one.
  const earlier = randomBytes(10_000_000).toString('base64')
  const later = '2026-11-21T10:00:00Z'
  const finished: string[] = []
  await Promise.all([
    Promise.resolve(bodies.get('json', 'br', earlier)).then(() => finished.push('earlier')),
    Promise.resolve(bodies.get('json', 'br', later)).then(() => finished.push('later')),
  ])
  t.same(finished, ['later', 'earlier'])
  t.notOk(bodies.get('json', 'br', later) instanceof Promise, 'the later one is kept')
})

t.test('large responses have the same content in every encoding', async (t) => {
  const { app } = await serviceWithQuotes(t)
  for (const query of ['', '&format=csv']) {
    const contents = await Promise.all(
      (['identity', 'gzip', 'br', 'br'] as const).map(async (encoding) => {
        const { headers, rawPayload } = await app.inject({
          url: `/api/stats?from=1900-01-01&to=2026-12-31${query}`,
          headers: { 'accept-encoding': encoding },
        })
        t.equal(headers['content-encoding'], encoding === 'identity' ? undefined : encoding)
        return withoutAsOf(decode(rawPayload, encoding))
      }),
    )
    if (query === '') t.ok((contents[0]?.length ?? 0) > 100_000, 'large')
    t.equal(new Set(contents).size, 1)
  }
})

t.test('asOf advances while nothing changes, and the ETag does not', async (t) => {
  const { app } = await serviceWithQuotes(t)
  const read = ({ rawPayload }: { rawPayload: Buffer }, encoding: ContentEncoding) => {
    const text = rawPayload.length === 0 ? '' : decode(rawPayload, encoding)
    return { asOf: asOfIn(text), rest: withoutAsOf(text) }
  }
  for (const query of ['', '?format=csv', '?format=csv&locale=es']) {
    for (const encoding of ['identity', 'gzip', 'br'] as const) {
      const headers = { 'accept-encoding': encoding }
      const request = async (more = {}) => {
        const response = await app.inject({
          url: `/api/stats${query}`,
          headers: { ...headers, ...more },
        })
        return { ...response.headers, status: response.statusCode, ...read(response, encoding) }
      }
      const first = await request()
      const later = await eventually(request, ({ asOf }) => asOf > first.asOf)
      t.ok(later.asOf > first.asOf, `${query} ${encoding}: ${first.asOf}, ${later.asOf}`)
      t.equal(later.etag, first.etag)
      t.equal(later.rest, first.rest, 'nothing else has changed')
      t.match(await request({ 'if-none-match': first.etag }), { status: 304, etag: first.etag })
    }
  }
})

t.test('every change that was committed before asOf is contained', async (t) => {
  const service = await statsService(t)
  let etag: unknown
  for (let number = 1; number <= 3; number += 1) {
    await insertQuote(service.db, String(number))
    const committedAt = Date.now()
    const earlier = new Set<string>()
    const shown = await eventually(
      async () => {
        const sentAt = Date.now()
        const { total, age, response } = await requestStats(service)
        const asOf = Date.parse(asOfIn(response.body))
        t.ok(asOf <= Date.now(), 'not later than now')
        t.ok(asOf >= sentAt - (age + 2) * 1_000, 'not earlier than Age allows')
        if (total !== number && asOf > committedAt) earlier.add(`${total} as of ${asOf}`)
        return { total, asOf, response }
      },
      ({ total, asOf }) => total === number && asOf >= committedAt,
    )
    t.same([...earlier], [])
    t.ok(shown.total === number && shown.asOf >= committedAt)
    t.not(shown.response.headers.etag, etag, 'another ETag after a change')
    etag = shown.response.headers.etag
  }
})

t.test('a stale response states its asOf', async (t) => {
  const service = await serviceBehindFaultyProxy(t)
  await insertQuote(service.db, '1')
  t.equal((await requestStats(service)).total, 1)
  service.faultyProxy.refuseConnections()
  const refusedAt = Date.now()
  const stale = await eventually(
    () => requestStats(service),
    ({ cacheStatus, age }) => cacheStatus.includes('stale') && age >= 3,
  )
  t.match(stale, { status: 200, cacheStatus: /fwd=stale/ })
  const asOf = asOfIn(stale.response.body)
  t.ok(Date.parse(asOf) <= refusedAt, 'from before the outage')
  await insertQuote(service.db, '2')
  t.equal(asOfIn((await requestStats(service)).response.body), asOf, 'does not advance')
  service.faultyProxy.restore()
  const current = await eventually(
    () => requestStats(service),
    ({ total }) => total === 2,
  )
  t.ok(Date.parse(asOfIn(current.response.body)) > refusedAt)
})

t.test('a spreadsheet runs no text cell as a formula (S25)', async (t) => {
  for (const sign of ['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
    for (const before of ['', ' ', '\t', '\r', '\u00a0', '\u0000', '\u200b', '\ufeff', ' \n']) {
      t.match(
        formatTextCell(`${before}${sign}cmd|' /C calc'!A0`),
        /^"?'/,
        JSON.stringify(before + sign),
      )
    }
  }
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
