// Deliberate faults in the lines that matter most: who may see what, figures, rounding, documents,
// the outbox, limits and escaping. They were chosen without looking at the tests.

export type Mutation = {
  file: string
  /** The code that is replaced. It occurs once in the file. */
  from: string
  to: string
  /** What is then wrong. */
  fault: string
  /** Test files, or folders of them, one of which must fail. */
  tests: string[]
}

const schema = 'src/database/schema'

export const mutations: Mutation[] = [
  // Who may see what.
  {
    file: 'src/auth/access-control.ts',
    from: 'if (scopes.includes(scope)) return',
    to: 'if (scopes.length > 0) return',
    fault: 'a key with any scope may do everything',
    tests: ['test/auth'],
  },
  {
    file: 'src/auth/access-control.ts',
    from: 'if (!isUsable(apiKey))',
    to: 'if (apiKey.isRevoked)',
    fault: 'expired keys are accepted',
    tests: ['test/auth'],
  },
  {
    file: 'src/auth/access-control.ts',
    from: 'if (origin === null || !origins.includes(origin))',
    to: 'if (origin === null)',
    fault: 'pages of every site may use a publishable key',
    tests: ['test/auth'],
  },
  {
    file: 'src/auth/access-control.ts',
    from: 'if (keyInUrl === undefined || !allowsKeyInUrl) return keyInHeader',
    to: 'if (keyInUrl === undefined) return keyInHeader',
    fault: 'every route accepts keys in its URL',
    tests: ['test/auth'],
  },
  {
    file: 'src/auth/api-key-cache.ts',
    from: "if (apiKey.kind !== kind || !timingSafeEqual(secretHash, hashKey(key))) return 'wrong secret'",
    to: "if (apiKey.kind !== kind) return 'wrong secret'",
    fault: 'the secret of a key is not compared',
    tests: ['test/auth'],
  },
  {
    file: 'src/stats/route.ts',
    from: "access.requireAdditionalScope(request, 'stats:detail',",
    to: "String(request, 'stats:detail',",
    fault: 'figures by customer need no scope of their own',
    tests: ['test/auth', 'test/stats'],
  },
  {
    file: 'src/http/host-header.ts',
    from: 'names.has(name) ||',
    to: 'true ||',
    fault: 'every Host is answered',
    tests: ['test/http'],
  },
  {
    file: `${schema}/55-quote-links.sql`,
    from: "where s.token_hash = read_quote_share.token_hash and q.status <> 'draft'",
    to: 'where s.token_hash = read_quote_share.token_hash',
    fault: 'links show drafts',
    tests: ['test/quotes'],
  },
  {
    file: 'src/quotes/links/read-link.ts',
    from: "if (row.revoked_at) return { state: 'link_revoked', linkId }",
    to: '',
    fault: 'revoked links stay open',
    tests: ['test/quotes'],
  },
  {
    file: 'src/quotes/links/read-link.ts',
    from: "if (row.is_expired) return { state: 'link_expired', linkId }",
    to: '',
    fault: 'expired links stay open',
    tests: ['test/quotes'],
  },
  {
    file: 'src/http/error-handlers.ts',
    from: "'The request failed. The reason is in the log, under this requestId.',",
    to: 'error.message,',
    fault: 'internal errors are told to callers',
    tests: ['test/http'],
  },

  // Documents.
  {
    file: 'src/quotes/links/read-link.ts',
    from: "if (createHash('sha256').update(documentJson).digest('hex') !== contentHash)",
    to: "if (documentJson === '')",
    fault: 'an altered document is shown',
    tests: ['test/quotes'],
  },
  {
    file: 'src/quotes/links/read-link.ts',
    from: 'knownHash !== undefined && knownHash !== contentHash',
    to: "knownHash === ''",
    fault: 'a document that was altered together with its hash is shown',
    tests: ['test/quotes'],
  },
  {
    file: `${schema}/55-quote-links.sql`,
    from: 'or (new.document is not null and new.document is distinct from old.document)',
    to: '',
    fault: 'the document of a link can be changed',
    tests: ['test/quotes', 'test/database'],
  },
  {
    file: 'src/quotes/page/quote-page-template.eta',
    from: '><%= it.notes %></bdi>',
    to: '><%~ it.notes %></bdi>',
    fault: 'the notes of a quote are markup',
    tests: ['test/quotes', 'test/attacks.test.ts'],
  },
  {
    file: 'src/stats/stats-csv.ts',
    from: '[=+\\-@＝＋－＠]',
    to: '[=＝＋－＠]',
    fault: 'spreadsheets run names of customers as formulas',
    tests: ['test/stats'],
  },

  // Money.
  {
    file: `${schema}/50-quotes.sql`,
    from: 'else round(quantity * unit_price * (100 - discount_percent) * 0.01, digits) end;',
    to: 'else trunc(quantity * unit_price * (100 - discount_percent) * 0.01, digits) end;',
    fault: 'lines are rounded down',
    tests: ['test/quotes', 'test/imports'],
  },
  {
    file: `${schema}/50-quotes.sql`,
    from: 'return round(base * coalesce(rate, 0) * 0.01, digits);',
    to: 'return trunc(base * coalesce(rate, 0) * 0.01, digits);',
    fault: 'taxes are rounded down',
    tests: ['test/quotes', 'test/imports'],
  },
  {
    file: `${schema}/50-quotes.sql`,
    from: '+ tax_amount(b.base, b.surcharge_rate, currency_digits(q.currency))',
    to: '',
    fault: 'totals lack the surcharge',
    tests: ['test/quotes', 'test/imports', 'test/database'],
  },
  {
    file: `${schema}/50-quotes.sql`,
    from: 'where (is_current_status(status)) deferrable',
    to: 'where (false) deferrable',
    fault: 'two versions of a quote are current',
    tests: ['test/database'],
  },

  // Statistics.
  {
    file: `${schema}/61-statistics-changes.sql`,
    from: '(-1, row(o.*)::quotes, image_of(row(o.*)::quotes))',
    to: '(0, row(o.*)::quotes, image_of(row(o.*)::quotes))',
    fault: 'a changed quote is counted twice',
    tests: ['test/stats'],
  },
  {
    file: `${schema}/61-statistics-changes.sql`,
    from: "when 'DELETE' then 'select -1 as sign, * from old_rows'",
    to: "when 'DELETE' then 'select 1 as sign, * from old_rows'",
    fault: 'a deleted line is counted once more',
    tests: ['test/stats'],
  },
  {
    file: `${schema}/60-statistics.sql`,
    from: "q.status <> 'superseded' and sign <> 0",
    to: 'sign <> 0',
    fault: 'superseded versions are counted',
    tests: ['test/stats'],
  },
  {
    file: `${schema}/62-statistics-fold.sql`,
    from: "where q.status = 'sent' and q.valid_until < local_today()",
    to: "where q.status = 'sent' and q.valid_until <= local_today()",
    fault: 'quotes expire a day early',
    tests: ['test/stats'],
  },
  {
    file: `${schema}/62-statistics-fold.sql`,
    from: 'update quote_summary set version = version + 1, folded_at = now(),',
    to: 'update quote_summary set folded_at = now(),',
    fault: 'cached statistics are sent after a change',
    tests: ['test/stats'],
  },
  {
    file: 'src/stats/figures.ts',
    from: 'const decided = accepted + rejected + expired',
    to: 'const decided = accepted + rejected',
    fault: 'expired quotes are not in the acceptance rate',
    tests: ['test/stats'],
  },

  // Search.
  {
    file: 'src/search/postgres.ts',
    from: 'return sql.join([sql`active`, ...filters], sql` and `)',
    to: 'return sql.join([sql`true`, ...filters], sql` and `)',
    fault: 'PostgreSQL finds inactive products',
    tests: ['test/search'],
  },
  {
    file: 'src/indexing/documents.ts',
    from: ".where('products.active', '=', true)",
    to: '',
    fault: 'the index has inactive products',
    tests: ['test/indexing'],
  },
  {
    file: 'src/text/tokens.ts',
    from: "add(start, end, toToken('code', gluedKey(joined)))",
    to: "add(start, end, toToken('word', gluedKey(joined)))",
    fault: 'codes are corrected to other codes',
    tests: ['test/search', 'test/text'],
  },
  {
    file: 'src/search/engine-filters.ts',
    from: 'return value === undefined ? [] : [`',
    to: 'return value !== null ? [] : [`',
    fault: 'the engine ignores filters',
    tests: ['test/search'],
  },
  {
    file: 'src/search/response-cache.ts',
    from: 'JSON.stringify([registrationName, version, wordsVersion, url])',
    to: "JSON.stringify([registrationName, version, wordsVersion, url.split('&')[0]])",
    fault: 'all pages of a search are the first that was read',
    tests: ['test/search'],
  },
  {
    file: 'src/search/search.ts',
    from: 'if (reason === undefined && version === watched.getLastKnownState().version)',
    to: '',
    fault: 'incomplete answers are cached',
    tests: ['test/search'],
  },
  {
    file: 'src/search/response-cache.ts',
    from: 'JSON.stringify([registrationName, version, wordsVersion, url])',
    to: 'JSON.stringify([registrationName, version === null, wordsVersion, url])',
    fault: 'cached results outlive a change of the index',
    tests: ['test/search'],
  },

  // The index follows the products.
  {
    file: 'src/indexing/outbox.ts',
    from: 'where id = any(',
    to: 'where true or id = any(',
    fault: 'changes that arrive while a batch is applied are lost',
    tests: ['test/indexing'],
  },
  {
    file: 'src/indexing/apply.ts',
    from: 'if (absentIds.length > 0) await send({ ids: absentIds })',
    to: '',
    fault: 'deleted products stay in the index',
    tests: ['test/indexing'],
  },
  {
    file: 'src/indexing/lease.ts',
    from: 'if (loss) throw loss\n    lease',
    to: 'lease',
    fault: 'an indexer that has lost its lease goes on',
    tests: ['test/indexing'],
  },
  {
    file: 'src/indexing/rebuild.ts',
    from: 'indexNames: isUsed ? [nextName, indexName] : [nextName]',
    to: 'indexNames: [indexName]',
    fault: 'changes during a rebuild are lost',
    tests: ['test/indexing'],
  },

  // Limits and logs.
  {
    file: 'src/rate-limits/request-rate-limits.ts',
    from: 'if (request.admittedKey?.unlimited) return done(null, payload)',
    to: 'if (request.admittedKey) return done(null, payload)',
    fault: 'keys have no limit',
    tests: ['test/rate-limits', 'test/auth', 'test/http'],
  },
  {
    file: 'src/rate-limits/guess-limit.ts',
    from: '> this.#options.maxPerMinute) throw',
    to: '> 100 * this.#options.maxPerMinute) throw',
    fault: 'keys and links can be guessed without a limit',
    tests: ['test/rate-limits', 'test/auth', 'test/quotes'],
  },
  {
    file: 'src/http/client-address.ts',
    from: 'const countedGroups = 4',
    to: 'const countedGroups = 8',
    fault: 'each address of an IPv6 network has a limit of its own',
    tests: ['test/http', 'test/rate-limits', 'test/auth'],
  },
  {
    file: 'src/http/request-log.ts',
    from: 'route: routeOptions.url ?? null,',
    to: 'route: request.url,',
    fault: 'tokens of quote links are logged',
    tests: ['test/http', 'test/quotes'],
  },
  {
    file: 'src/database/role-grants.ts',
    from: "'insert (share_id) on quote_share_views',",
    to: "'insert (share_id) on quote_share_views', 'select on quote_shares',",
    fault: 'the API may read every document',
    tests: ['test/quotes/links'],
  },
  {
    file: 'src/overload/load-shedding.ts',
    from: "if (maxDelayMs === 0 || method === 'OPTIONS') return false",
    to: 'if (maxDelayMs >= 0) return false',
    fault: 'a busy process accepts every request',
    tests: ['test/overload'],
  },
]
