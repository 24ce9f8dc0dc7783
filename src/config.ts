// The only reader of the environment. One schema; every process takes the settings it needs and hears of all bad ones at once.
import { readFileSync } from 'node:fs'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const Port = (description: string, fallback: number) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description })
const Limit = (description: string, fallback: number) =>
  Type.Integer({ minimum: 1, default: fallback, description })
const Url = (protocols: string, description: string) =>
  Type.String({ pattern: `^(${protocols})://.+`, description })

export const Settings = Type.Object({
  DATABASE_URL: Url(
    'postgres|postgresql',
    'PostgreSQL, such as postgres://user:password@host:5432/database',
  ),
  API_DATABASE_URL: Type.Optional(
    Url(
      'postgres|postgresql',
      'The same database under the role of the API, which scripts/migrate.ts makes; the API uses DATABASE_URL without it',
    ),
  ),
  INDEXER_DATABASE_URL: Type.Optional(
    Url('postgres|postgresql', 'The same under the role of the indexer'),
  ),
  IMPORTER_DATABASE_URL: Type.Optional(
    Url('postgres|postgresql', 'The same under the role of scripts/import.ts and scripts/share.ts'),
  ),
  REDIS_URL: Type.Optional(
    Url(
      'redis|rediss',
      'Redis, such as redis://host:6379; without it each process caches and limits on its own',
    ),
  ),
  REDIS_PREFIX: Type.String({
    pattern: '^[A-Za-z0-9:_-]*$',
    default: 'tqs:',
    description: 'Put before every key in Redis',
  }),
  MEILI_URL: Url('http|https', 'Meilisearch, such as http://host:7700'),
  MEILI_MASTER_KEY: Type.String({
    minLength: 16,
    description: 'Master key of Meilisearch; only migrate needs it, to make the keys of the others',
  }),
  MEILI_INDEXER_KEY: Type.Optional(
    Type.String({
      minLength: 16,
      description:
        'Key of the indexer, derived from the master key by `make env`; without it the indexer uses the master key',
    }),
  ),
  MEILI_SEARCH_KEY: Type.String({
    minLength: 16,
    description: 'Key that can only search, derived from the master key by `make env`',
  }),
  SEARCH_INDEX: Type.String({
    pattern: '^[A-Za-z0-9_-]{1,100}$',
    default: 'products',
    description: 'Name of the index in Meilisearch',
  }),
  SEARCH_ENGINE: Type.String({
    pattern: '^[a-z0-9_-]{1,50}$',
    default: 'main',
    description: 'Name under which this Meilisearch is kept in step',
  }),
  MORE_SEARCH_ENGINES: Type.Array(Type.String({ pattern: '^[a-z0-9_-]{1,50}=https?://.+' }), {
    default: [],
    description:
      'Comma list of more Meilisearch with the same master key, as name=http://host:7700; each needs an indexer of that name',
  }),
  POPULARITY_MINUTES: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 10,
    description: 'Every so many minutes it is counted anew how often products are quoted',
  }),
  COMPANY_FILE: Type.String({
    minLength: 1,
    default: 'company.json',
    description: 'The company: seller block, base currency, time zone, bank',
  }),
  HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address that the API listens on',
  }),
  PORT: Port('Port of the API', 3000),
  OPS_HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address that health and metrics listen on',
  }),
  OPS_PORT: Port('Port of health and metrics', 3001),
  PUBLIC_BASE_URL: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#]+$',
      description:
        'Where callers reach the service, may carry a path; links are built from it. Default: HOST and PORT',
    }),
  ),
  ANONYMOUS_SCOPES: Type.Array(
    Type.Union([Type.Literal('search:read'), Type.Literal('stats:read')]),
    {
      default: [],
      description: 'Comma list of what callers without a key may do: search:read, stats:read',
    },
  ),
  TRUST_PROXY: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'Comma list of addresses or networks of the proxies in front, whose X-Forwarded-For is believed',
  }),
  SEARCH_MEMORY_MB: Type.Integer({
    minimum: 0,
    maximum: 4096,
    default: 32,
    description:
      'Megabytes of search answers that a process remembers while the index is unchanged; 0: none',
  }),
  SEARCH_LIMIT_PER_SECOND: Limit(
    'Searches per key, or per client address without one, in a second',
    40,
  ),
  STATS_LIMIT_PER_MINUTE: Limit('Requests for figures per key or address, in a minute', 120),
  LINK_LIMIT_PER_MINUTE: Limit('Opened quote links per address, in a minute', 60),
  CALLER_GUESS_LIMIT_PER_MINUTE: Limit('Keys that are not valid per address, in a minute', 20),
  LINK_GUESS_LIMIT_PER_MINUTE: Limit('Quote links that lead nowhere per address, in a minute', 10),
  SHED_DELAY_MS: Type.Integer({
    minimum: 0,
    maximum: 60_000,
    default: 250,
    description:
      'Requests are refused with 503 while the process is late by more than so many milliseconds; 0: never',
  }),
  COUNT_VIEWS: Type.Boolean({
    default: false,
    description: 'true to count how often each quote link is opened; no address is kept',
  }),
  WEB_PARTS: Type.Array(
    Type.Union([
      Type.Literal('palette'),
      Type.Literal('dashboard'),
      Type.Literal('home'),
      Type.Literal('none'),
    ]),
    {
      default: ['palette'],
      description:
        'Comma list of what is served to browsers: palette (/web/palette.js), dashboard (/dashboard), home (/); or none',
    },
  ),
  HOME_PALETTE: Type.Optional(
    Type.String({
      pattern: '^tqp_',
      description:
        'Publishable key that the page / searches with and shows; everybody who opens it sees it',
    }),
  ),
  HOME_QUOTE_URL: Type.Optional(
    Type.String({
      pattern: '/quote/share/[A-Za-z0-9_-]{43}$',
      description: 'Link of a quote that the page / shows; everybody who opens it sees it',
    }),
  ),
  SERVE_OPENAPI: Type.Boolean({ default: true, description: 'false to not serve /openapi.json' }),
  SERVE_DOCS: Type.Boolean({ default: true, description: 'false to not serve the page at /docs' }),
  START_TIMEOUT_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 3600,
    default: 60,
    description: 'How long a start waits for PostgreSQL before it gives up',
  }),
  LOG_LEVEL: Type.Union(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) =>
      Type.Literal(level),
    ),
    { default: 'info', description: 'fatal, error, warn, info, debug, trace or silent' },
  ),
})
export type Settings = Static<typeof Settings>

/** Secrets may also come from a file named in <NAME>_FILE, as container platforms mount them. */
const secrets = [
  'DATABASE_URL',
  'API_DATABASE_URL',
  'INDEXER_DATABASE_URL',
  'IMPORTER_DATABASE_URL',
  'REDIS_URL',
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'MEILI_SEARCH_KEY',
] as const

const roleUrls = ['API_DATABASE_URL', 'INDEXER_DATABASE_URL', 'IMPORTER_DATABASE_URL'] as const
const Server = Type.Omit(Settings, [
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'POPULARITY_MINUTES',
  ...roleUrls,
])
const Indexer = Type.Composite([
  Type.Pick(Settings, [
    'DATABASE_URL',
    'MEILI_URL',
    'SEARCH_INDEX',
    'SEARCH_ENGINE',
    'POPULARITY_MINUTES',
    'LOG_LEVEL',
  ]),
  Type.Required(Type.Pick(Settings, ['MEILI_INDEXER_KEY'])),
])
const Database = Type.Pick(Settings, ['DATABASE_URL'])
const Migrate = Type.Composite([
  Type.Pick(Settings, ['DATABASE_URL', 'COMPANY_FILE', ...roleUrls]),
  Type.Partial(Type.Pick(Settings, ['MEILI_URL', 'MEILI_MASTER_KEY'])),
])
const Share = Type.Pick(Settings, ['DATABASE_URL', 'PUBLIC_BASE_URL', 'HOST', 'PORT'])

export type ServerConfig = Static<typeof Server>
export type IndexerConfig = Static<typeof Indexer>

/** Settings of the API server. Each of these throws one error that lists every setting that is missing or wrong. */
export const readServerConfig = (): ServerConfig =>
  read(Server, { DATABASE_URL: ['API_DATABASE_URL', 'DATABASE_URL'] })
/** Settings of scripts/indexer.ts. */
export const readIndexerConfig = (): IndexerConfig =>
  read(Indexer, {
    DATABASE_URL: ['INDEXER_DATABASE_URL', 'DATABASE_URL'],
    MEILI_INDEXER_KEY: ['MEILI_INDEXER_KEY', 'MEILI_MASTER_KEY'],
  })
/** Settings of the scripts that only need the database, as its owner. */
export const readDatabaseConfig = (): Static<typeof Database> => read(Database)
/** Settings of scripts/import.ts. */
export const readImportConfig = (): Static<typeof Database> => read(Database, importer)
/** Settings of scripts/migrate.ts. */
export const readMigrateConfig = (): Static<typeof Migrate> => read(Migrate)
/** Settings of scripts/share.ts, which prints links. */
export const readShareConfig = (): Static<typeof Share> => read(Share, importer)

/** The base of every link, without a slash at its end. */
export function publicBaseUrl(config: {
  PUBLIC_BASE_URL?: string
  HOST: string
  PORT: number
}): string {
  return (config.PUBLIC_BASE_URL ?? `http://${config.HOST}:${config.PORT}`).replace(/\/+$/, '')
}

/** Where a setting comes from, if not from its own name: the first of these that is set. */
type Sources = Record<string, readonly string[]>
const importer: Sources = { DATABASE_URL: ['IMPORTER_DATABASE_URL', 'DATABASE_URL'] }

function read<Schema extends TObject>(schema: Schema, sources: Sources = {}): Static<Schema> {
  const problems: string[] = []
  const given: Record<string, unknown> = {}
  for (const [key, property] of Object.entries(schema.properties)) {
    const text = (sources[key] ?? [key])
      .map((name) => rawSetting(name, problems))
      .find((found) => found)
    if (text !== undefined)
      given[key] = property.type === 'array' ? splitList(text) : Value.Convert(property, text)
  }
  const settings = Value.Default(schema, given)
  const wrong = new Set(
    [...Value.Errors(schema, settings)].map(({ path }) => path.split('/')[1] ?? ''),
  )
  for (const key of wrong) {
    const { description = '' } = schema.properties[key] ?? {}
    problems.push(`${key} ${key in given ? 'is not valid' : 'is missing'}: ${description}`)
  }
  if (problems.length > 0)
    throw new Error(
      `The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}\nSee .env.example.`,
    )
  return settings as Static<Schema>
}

function rawSetting(key: string, problems: string[]): string | undefined {
  const file = process.env[`${key}_FILE`]
  if (!file || !(secrets as readonly string[]).includes(key)) return process.env[key]
  if (process.env[key]) {
    problems.push(`${key} and ${key}_FILE are both given: keep one of them`)
    return process.env[key]
  }
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    problems.push(
      `${key}_FILE cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    )
    return undefined
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
