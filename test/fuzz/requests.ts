// Generates requests from the OpenAPI document: every parameter of every endpoint, with valid and
// malicious values.
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

const maliciousTexts = [
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

/** Replaces control characters, which no client can send in a header. */
const toHeaderValue = (text: string) => text.replace(/[^\x20-\x7e\xa0-\xff]/g, '?')

const malicious = fc.oneof(
  fc.constantFrom(...maliciousTexts),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.integer().map(String),
  fc.double().map(String),
)

/** Values that the schema of a parameter allows, and malicious ones. */
function generateValues(
  { schema, example }: Parameter,
  parameterValues: string[],
): fc.Arbitrary<string> {
  const { type, enum: choices, minimum = 0, maximum = 100, format } = schema
  const pattern = new RegExp(schema.pattern ?? (format === 'date' ? '^[0-9-]{10}$' : ''))
  const matching = parameterValues.filter((value) => pattern.test(value))
  let valid = fc.constantFrom(String(example ?? ''), ...matching)
  if (choices) valid = fc.constantFrom(...choices)
  else if (type === 'integer')
    valid = fc.integer({ min: minimum - 1, max: maximum + 1 }).map(String)
  // One wrong parameter is enough for a 400, and most requests have several parameters.
  return fc.oneof({ arbitrary: valid, weight: 6 }, { arbitrary: malicious, weight: 1 })
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

export type RequestValues = {
  /** Values that mean something to the data. */
  parameterValues: string[]
  /** Tokens of existing quote links. */
  tokens: string[]
  /** Authorization headers. Few requests get an invalid one, because it never reaches a route. */
  validCredentials: string[]
  invalidCredentials: string[]
}

/** Generates requests for every endpoint of the document. */
export function generateRequests(
  document: OpenApiDocument,
  values: RequestValues,
): fc.Arbitrary<FuzzRequest> {
  const headers = generateHeaders(values)
  const requests = Object.entries(document.paths).map(([path, { get }]) => {
    const parameters = (get.parameters as unknown as Parameter[]).filter(
      ({ in: location }) => location === 'query',
    )
    return fc
      .record({
        query: generateQuery(parameters, values.parameterValues),
        token: path.includes('{') ? generateToken(values.tokens) : fc.constant(''),
        headers,
        method: fc.constantFrom<'GET' | 'HEAD'>('GET', 'GET', 'GET', 'HEAD'),
        isRaw: fc.boolean(),
      })
      .map(({ query, token, headers, method, isRaw }): FuzzRequest => {
        const encode = isRaw ? encodeImpossibleCharacters : encodeText
        const pairs = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
        return {
          path,
          url: path.replace('{token}', encode(token)) + (pairs && `?${pairs}`),
          method,
          headers,
        }
      })
  })
  return fc.oneof(...requests)
}

function generateHeaders({ validCredentials, invalidCredentials }: RequestValues) {
  const maliciousHeader = malicious.map(toHeaderValue)
  return fc.record(
    {
      accept: fc.oneof(fc.constantFrom(...accepts), maliciousHeader),
      'accept-language': fc.oneof(fc.constantFrom('es', 'en;q=0.5', 'de'), maliciousHeader),
      'accept-encoding': fc.constantFrom('br', 'gzip', 'identity', 'identity;q=0, *;q=0', 'zstd'),
      authorization: fc.oneof(
        { arbitrary: fc.constantFrom(...validCredentials), weight: 20 },
        { arbitrary: fc.constantFrom(...invalidCredentials), weight: 1 },
        { arbitrary: maliciousHeader, weight: 1 },
      ),
      'if-none-match': fc.oneof(fc.constantFrom('*', '"x"', 'W/"x", "y"'), maliciousHeader),
      'x-request-id': maliciousHeader,
      origin: fc.constantFrom('null', 'https://evil.example', 'http://[::1'),
      'x-forwarded-for': fc.constantFrom('127.0.0.1', 'x', '::ffff:1.2.3.4, 5.6.7.8'),
    },
    { requiredKeys: [] },
  )
}

/** Pairs of name and value: mostly documented parameters, some undocumented ones. */
function generateQuery(parameters: Parameter[], parameterValues: string[]) {
  const documented = parameters.map((parameter) =>
    generateValues(parameter, parameterValues).map((value) => [parameter.name, value] as const),
  )
  const undocumented = fc.tuple(
    fc.constantFrom('key', 'q[]', 'q[$ne]', 'constructor', '__proto__', 'utm_source', ''),
    malicious,
  )
  return fc.array(
    fc.oneof(
      { arbitrary: fc.oneof(...documented), weight: 20 },
      { arbitrary: undocumented, weight: 1 },
    ),
    { maxLength: parameters.length },
  )
}

function generateToken(tokens: string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...tokens), weight: 4 },
    malicious,
    fc.string({ minLength: 43, maxLength: 43 }),
  )
}

function encodeText(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** Encodes only the characters that a URL cannot contain or that end a part of it. */
function encodeImpossibleCharacters(text: string): string {
  return text.replace(/[^\x21-\x7e]|[#?&/]/gu, encodeText)
}
