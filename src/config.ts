// The only reader of the environment. One schema; every process takes the settings it needs and hears of all bad ones at once.
import { readFileSync } from 'node:fs'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const Port = (description: string, fallback: number) => Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description })
const Limit = (description: string, fallback: number) => Type.Integer({ minimum: 1, default: fallback, description })
const Url = (protocols: string, description: string) => Type.String({ pattern: `^(${protocols})://.+`, description })

export const Settings = Type.Object({
  DATABASE_URL: Url('postgres|postgresql', 'PostgreSQL, such as postgres://user:password@host:5432/database'),
  REDIS_URL: Type.Optional(Url('redis|rediss', 'Redis, such as redis://host:6379; without it each process caches and limits on its own')),
  REDIS_PREFIX: Type.String({ pattern: '^[A-Za-z0-9:_-]*$', default: 'tqs:', description: 'Put before every key in Redis' }),
  MEILI_URL: Url('http|https', 'Meilisearch, such as http://host:7700'),
  MEILI_MASTER_KEY: Type.String({ minLength: 16, description: 'Master key of Meilisearch; only the indexer needs it' }),
  MEILI_SEARCH_KEY: Type.String({ minLength: 16, description: 'Key that can only search, derived from the master key by `make env`' }),
  SEARCH_INDEX: Type.String({ pattern: '^[A-Za-z0-9_-]{1,100}$', default: 'products', description: 'Name of the index in Meilisearch' }),
  SEARCH_ENGINE: Type.String({
    pattern: '^[a-z0-9_-]{1,50}$',
    default: 'main',
    description: 'Name under which this Meilisearch is kept in step',
  }),
  MORE_SEARCH_ENGINES: Type.Array(Type.String({ pattern: '^[a-z0-9_-]{1,50}=https?://.+' }), {
    default: [],
    description: 'Comma list of more Meilisearch with the same master key, as name=http://host:7700; each needs an indexer of that name',
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
  HOST: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address that the API listens on' }),
  PORT: Port('Port of the API', 3000),
  OPS_HOST: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address that health listens on' }),
  OPS_PORT: Port('Port of health', 3001),
  PUBLIC_BASE_URL: Type.Optional(
    Url('http|https', 'Where callers reach the service, may carry a path; links are built from it. Default: HOST and PORT'),
  ),
  ANONYMOUS_SCOPES: Type.Array(Type.Union([Type.Literal('search:read'), Type.Literal('stats:read')]), {
    default: [],
    description: 'Comma list of what callers without a key may do: search:read, stats:read',
  }),
  TRUST_PROXY: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'Comma list of addresses or networks of the proxies in front, whose X-Forwarded-For is believed',
  }),
  SEARCH_MEMORY_MB: Type.Integer({
    minimum: 0,
    maximum: 4096,
    default: 32,
    description: 'Megabytes of search answers that a process remembers while the index is unchanged; 0: none',
  }),
  SEARCH_LIMIT_PER_SECOND: Limit('Searches per key, or per client address without one, in a second', 40),
  STATS_LIMIT_PER_MINUTE: Limit('Requests for figures per key or address, in a minute', 120),
  LINK_LIMIT_PER_MINUTE: Limit('Opened quote links per address, in a minute', 60),
  LINK_GUESS_LIMIT_PER_MINUTE: Limit('Quote links that lead nowhere per address, in a minute', 10),
  COUNT_VIEWS: Type.Boolean({ default: false, description: 'true to count how often each quote link is opened; no address is kept' }),
  LOG_LEVEL: Type.Union(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => Type.Literal(level)),
    { default: 'info', description: 'fatal, error, warn, info, debug, trace or silent' },
  ),
})
export type Settings = Static<typeof Settings>

/** Secrets may also come from a file named in <NAME>_FILE, as container platforms mount them. */
const secrets = ['DATABASE_URL', 'REDIS_URL', 'MEILI_MASTER_KEY', 'MEILI_SEARCH_KEY'] as const

const Server = Type.Omit(Settings, ['MEILI_MASTER_KEY', 'POPULARITY_MINUTES'])
const Indexer = Type.Pick(Settings, [
  'DATABASE_URL',
  'MEILI_URL',
  'MEILI_MASTER_KEY',
  'SEARCH_INDEX',
  'SEARCH_ENGINE',
  'POPULARITY_MINUTES',
  'LOG_LEVEL',
])
const Database = Type.Pick(Settings, ['DATABASE_URL'])
const Migrate = Type.Pick(Settings, ['DATABASE_URL', 'COMPANY_FILE'])
const Share = Type.Pick(Settings, ['DATABASE_URL', 'PUBLIC_BASE_URL', 'HOST', 'PORT'])

export type ServerConfig = Static<typeof Server>
export type IndexerConfig = Static<typeof Indexer>

/** Settings of the API server. Each of these throws one error that lists every setting that is missing or wrong. */
export const readServerConfig = (): ServerConfig => read(Server)
/** Settings of scripts/indexer.ts. */
export const readIndexerConfig = (): IndexerConfig => read(Indexer)
/** Settings of the scripts that only need the database. */
export const readDatabaseConfig = (): Static<typeof Database> => read(Database)
/** Settings of scripts/migrate.ts. */
export const readMigrateConfig = (): Static<typeof Migrate> => read(Migrate)
/** Settings of scripts/share.ts, which prints links. */
export const readShareConfig = (): Static<typeof Share> => read(Share)

/** The base of every link, without a slash at its end. */
export function publicBaseUrl(config: { PUBLIC_BASE_URL?: string; HOST: string; PORT: number }): string {
  return (config.PUBLIC_BASE_URL ?? `http://${config.HOST}:${config.PORT}`).replace(/\/+$/, '')
}

function read<Schema extends TObject>(schema: Schema): Static<Schema> {
  const problems: string[] = []
  const given: Record<string, unknown> = {}
  for (const [key, property] of Object.entries(schema.properties)) {
    const text = rawSetting(key, problems)
    if (text !== undefined && text !== '') given[key] = property.type === 'array' ? splitList(text) : Value.Convert(property, text)
  }
  const settings = Value.Default(schema, given)
  const wrong = new Set([...Value.Errors(schema, settings)].map(({ path }) => path.split('/')[1] ?? ''))
  for (const key of wrong) {
    const { description = '' } = schema.properties[key] ?? {}
    problems.push(`${key} ${key in given ? 'is not valid' : 'is missing'}: ${description}`)
  }
  if (problems.length > 0)
    throw new Error(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}\nSee .env.example.`)
  return settings as Static<Schema>
}

function rawSetting(key: string, problems: string[]): string | undefined {
  const file = process.env[`${key}_FILE`]
  if (process.env[key] !== undefined || !file || !(secrets as readonly string[]).includes(key)) return process.env[key]
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    problems.push(`${key}_FILE cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
