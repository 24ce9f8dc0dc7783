// Requests made from the OpenAPI document: every parameter of every endpoint, well meant and hostile, by a seed.
import fc from 'fast-check'
import type { OpenApiDocument } from '../../src/api-docs/openapi-document.ts'

export type FuzzRequest = {
  path: string
  url: string
  method: 'GET' | 'HEAD'
  headers: Record<string, string>
}

type Parameter = {
  name: string
  in: string
  schema: {
    type?: string
    enum?: string[]
    minimum?: number
    maximum?: number
    pattern?: string
    format?: string
  }
  example?: unknown
}

const hostileTexts = [
  '',
  ' ',
  '\u0000',
  '\n\r\t',
  '%',
  '%00',
  '%zz',
  '*',
  '\\',
  "'",
  '"',
  '`',
  "' OR 1=1 --",
  '"); DROP TABLE quotes; --',
  '" OR status = "x',
  '<script>alert(1)</script>',
  '=cmd|"/c calc"!A1',
  '../../../../etc/passwd',
  '{{7*7}}',
  '[$ne]',
  'null',
  'undefined',
  'NaN',
  '-1',
  '0',
  '1e9',
  '999999999999999999999999',
  '2026-02-30',
  '2026-13-01',
  '0000-00-00',
  '9999-12-31',
  '+275760-09-13',
  'ñandú martillo',
  'ｆｕｌｌｗｉｄｔｈ',
  'עברית ‏العربية',
  '👩‍👩‍👧‍👦'.repeat(40),
  'a'.repeat(201),
  'é'.repeat(200),
  'a '.repeat(90),
  'x'.repeat(5_000),
  '\ud800',
  '\u202e\u2066',
  '１２３',
  '*/*',
  'constructor',
  '__proto__',
  'W/"*"',
]

/** Header values hold no control characters: no client could send them. */
const headerText = (text: string) => text.replace(/[^\x20-\x7e\xa0-\xff]/g, '?')

const hostile = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.integer().map(String),
  fc.double().map(String),
)

/** What the document says of a parameter, or what nobody should send. */
function wordsFor({ schema, example }: Parameter, words: string[]): fc.Arbitrary<string> {
  const { type, enum: choices, minimum = 0, maximum = 100, format } = schema
  const pattern = new RegExp(schema.pattern ?? (format === 'date' ? '^[0-9-]{10}$' : ''))
  const fitting = words.filter((word) => pattern.test(word))
  const meant = choices
    ? fc.constantFrom(...choices)
    : type === 'integer'
      ? fc.integer({ min: minimum - 1, max: maximum + 1 }).map(String)
      : fc.constantFrom(String(example ?? ''), ...fitting)
  // Most requests have several parameters, and one that is wrong is enough for a 400.
  return fc.oneof({ arbitrary: meant, weight: 6 }, { arbitrary: hostile, weight: 1 })
}

const accepts = [
  '*/*',
  'application/json',
  'text/csv',
  'text/html',
  'application/pdf;q=0.1, text/html;q=0.2',
  'image/png',
  'application/json;q=0',
  ',;=',
  'text/html,application/xhtml+xml,*/*;q=0.8',
]

/**
 * `words` are values that mean something to the data; `tokens` are links that exist. `keys` and `strangers` are ways to say who calls, good and bad: few
 * are bad, for what is refused at the door never gets to a route.
 */
export function requestsOf(
  document: OpenApiDocument,
  {
    words,
    tokens,
    keys,
    strangers,
  }: { words: string[]; tokens: string[]; keys: string[]; strangers: string[] },
): fc.Arbitrary<FuzzRequest> {
  const headers = fc.record(
    {
      accept: fc.oneof(fc.constantFrom(...accepts), hostile.map(headerText)),
      'accept-language': fc.oneof(fc.constantFrom('es', 'en;q=0.5', 'de'), hostile.map(headerText)),
      'accept-encoding': fc.constantFrom('br', 'gzip', 'identity', 'identity;q=0, *;q=0', 'zstd'),
      authorization: fc.oneof(
        { arbitrary: fc.constantFrom(...keys), weight: 20 },
        { arbitrary: fc.constantFrom(...strangers), weight: 1 },
        { arbitrary: hostile.map(headerText), weight: 1 },
      ),
      'if-none-match': fc.oneof(fc.constantFrom('*', '"x"', 'W/"x", "y"'), hostile.map(headerText)),
      'x-request-id': hostile.map(headerText),
      origin: fc.constantFrom('null', 'https://evil.example', 'http://[::1'),
      'x-forwarded-for': fc.constantFrom('127.0.0.1', 'x', '::ffff:1.2.3.4, 5.6.7.8'),
    },
    { requiredKeys: [] },
  )
  const operations = Object.entries(document.paths).map(([path, { get }]) => {
    const parameters = (get.parameters as unknown as Parameter[]).filter(
      ({ in: place }) => place === 'query',
    )
    const known = parameters.map((parameter) =>
      wordsFor(parameter, words).map((value) => [parameter.name, value] as const),
    )
    const unknown = fc.tuple(
      fc.constantFrom('key', 'q[]', 'q[$ne]', 'constructor', '__proto__', 'utm_source', ''),
      hostile,
    )
    const query = fc.array(
      fc.oneof({ arbitrary: fc.oneof(...known), weight: 20 }, { arbitrary: unknown, weight: 1 }),
      {
        maxLength: parameters.length,
      },
    )
    const token = path.includes('{')
      ? fc.oneof(
          { arbitrary: fc.constantFrom(...tokens), weight: 4 },
          hostile,
          fc.string({ minLength: 43, maxLength: 43 }),
        )
      : fc.constant('')
    return fc
      .record({
        query,
        token,
        headers,
        method: fc.constantFrom<'GET' | 'HEAD'>('GET', 'GET', 'GET', 'HEAD'),
        raw: fc.boolean(),
      })
      .map(({ query, token, headers, method, raw }): FuzzRequest => {
        // Encoded as a client does, or only where a URL could not hold it.
        const encode = (text: string) =>
          raw
            ? text.replace(/[^\x21-\x7e]|[#?&/]/gu, (one) => encodeURIComponent(one.toWellFormed()))
            : encodeURIComponent(text.toWellFormed())
        const pairs = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
        return {
          path,
          url: path.replace('{token}', encode(token)) + (pairs && `?${pairs}`),
          method,
          headers,
        }
      })
  })
  return fc.oneof(...operations)
}
