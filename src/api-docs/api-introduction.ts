// The introduction to the API in the OpenAPI document and on /docs.

export const apiIntroduction = {
  title: 'Trade quoting service',
  summary:
    'Product search, statistics of quotes, and quote links of a company that sells to other ' +
    'companies. Read-only.',
  conventions: [
    'Money is `{ "amount": "1234.50", "currency": "EUR" }`: a decimal string with the digits of ' +
      'its currency. Never convert it to a binary floating-point number.',
    'Quantities, rates and percentages are decimal strings. Dates (`YYYY-MM-DD`) and months ' +
      '(`YYYY-MM`) follow the company’s calendar. Instants are RFC 3339 in UTC.',
    'Countries are ISO 3166-1 alpha-2 and units UN/ECE Recommendation 20. HS codes are strings.',
    'On `/api/*` an unknown or repeated parameter is an error: a misspelt filter is never ' +
      'silently ignored. HEAD works wherever GET does; other methods return 405 ' +
      '(`method_not_allowed`).',
    'Changes are additive: ignore fields that you do not know. A breaking change is announced ' +
      'by `Deprecation` and `Sunset` headers at least six months ahead.',
  ],
  authentication:
    'Send a *secret key* (`tqs_…`) in the header `Authorization: Bearer tqs_…` and keep it on ' +
    'servers. A *publishable key* (`tqp_…`) is for browsers: it can only search, only from the ' +
    'origins that it is bound to, and can also be sent as `?key=`. An invalid key always ' +
    'returns 401. Quote links need no key: the token is the secret.',
  errors:
    'Every error is an RFC 9457 problem (`application/problem+json`) with a `code` from a closed ' +
    'list and a `requestId`, which identifies the request in the log. `invalid_parameter` names ' +
    'the invalid parameters in `errors`, at most 20. Without `errors` the request itself is ' +
    'malformed, and the status may also be 408, 417 or 431.',
  limits:
    'Requests are limited per key, or per client address without a key. `RateLimit-*` headers ' +
    'state how many are left. A 429 names the limit and its window. After a 429 or 503, wait for ' +
    'the seconds in `Retry-After`.',
} as const
