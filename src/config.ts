// Reads and checks the settings of every process. No other file reads the environment.
// src/config/settings-schema.ts lists them.
import { readFileSync } from 'node:fs'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Settings } from './config/settings-schema.ts'
import { parsePostgresUrl } from './database/postgres-address.ts'
import { isProxyRange } from './http/trusted-proxies.ts'

/** Secrets that may also be in a file whose name is in NAME_FILE, as container platforms do. */
const secrets = [
  'DATABASE_URL',
  'API_DATABASE_URL',
  'REPLICA_DATABASE_URL',
  'INDEXER_DATABASE_URL',
  'IMPORTER_DATABASE_URL',
  'REDIS_URL',
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'MEILI_SEARCH_KEY',
] as const

const roleUrls = ['API_DATABASE_URL', 'INDEXER_DATABASE_URL', 'IMPORTER_DATABASE_URL'] as const
const ServerSettings = Type.Omit(Settings, [
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'INDEXER_OPS_PORT',
  'POPULARITY_MINUTES',
  'SHARE_MAX_LINES',
  'SHARE_RETENTION_DAYS',
  ...roleUrls,
])
const IndexerSettings = Type.Composite([
  Type.Pick(Settings, [
    'DATABASE_URL',
    'MEILI_URL',
    'SEARCH_INDEX',
    'SEARCH_ENGINE',
    'POPULARITY_MINUTES',
    'OPS_HOST',
    'INDEXER_OPS_PORT',
    'LOG_LEVEL',
  ]),
  Type.Required(Type.Pick(Settings, ['MEILI_INDEXER_KEY'])),
])
const DatabaseSettings = Type.Pick(Settings, ['DATABASE_URL'])
const StatsScriptSettings = Type.Pick(Settings, ['DATABASE_URL', 'COMPANY_FILE'])
const MigrateSettings = Type.Composite([
  Type.Pick(Settings, [
    'DATABASE_URL',
    'COMPANY_FILE',
    'SHARE_MAX_LINES',
    'SHARE_RETENTION_DAYS',
    ...roleUrls,
  ]),
  Type.Partial(Type.Pick(Settings, ['MEILI_URL', 'MEILI_MASTER_KEY'])),
])
const ShareSettings = Type.Pick(Settings, [
  'DATABASE_URL',
  'PUBLIC_BASE_URL',
  'HOST',
  'PORT',
  'COUNT_VIEWS',
])

/** The settings of the API server. */
export type ServerConfig = Static<typeof ServerSettings>
export type IndexerConfig = Static<typeof IndexerSettings>

/** The name of a search engine in the database, and the URL of its server. */
export type SearchEngineUrl = { name: string; url: string }

/** The settings of the API server with its search engines, the first of which is SEARCH_ENGINE. */
export type ServerConfigWithEngines = ServerConfig & {
  searchEngines: [SearchEngineUrl, ...SearchEngineUrl[]]
}

/**
 * Returns the settings of the API server and its search engines. This function and the following
 * ones throw one error that lists every missing or invalid setting.
 */
export function readServerConfig(): ServerConfigWithEngines {
  const config = readSettings(ServerSettings, {
    DATABASE_URL: ['API_DATABASE_URL', 'DATABASE_URL'],
  })
  const { SEARCH_ENGINE, MEILI_URL, MORE_SEARCH_ENGINES } = config
  return {
    ...config,
    searchEngines: [
      { name: SEARCH_ENGINE, url: MEILI_URL },
      ...MORE_SEARCH_ENGINES.map(parseSearchEngine),
    ],
  }
}
/** Returns the settings of scripts/indexer.ts. */
export const readIndexerConfig = (): IndexerConfig =>
  readSettings(IndexerSettings, {
    DATABASE_URL: ['INDEXER_DATABASE_URL', 'DATABASE_URL'],
    MEILI_INDEXER_KEY: ['MEILI_INDEXER_KEY', 'MEILI_MASTER_KEY'],
  })
/** Returns the settings of the scripts that connect to the database as its owner. */
export const readDatabaseConfig = (): Static<typeof DatabaseSettings> =>
  readSettings(DatabaseSettings)
/** Returns the settings of scripts/import.ts. */
export const readImportConfig = (): Static<typeof DatabaseSettings> =>
  readSettings(DatabaseSettings, importerSources)
/** Returns the settings of scripts/stats.ts. */
export const readStatsConfig = (): Static<typeof StatsScriptSettings> =>
  readSettings(StatsScriptSettings)
/** Returns the settings of scripts/migrate.ts. */
export const readMigrateConfig = (): Static<typeof MigrateSettings> => readSettings(MigrateSettings)
/** Returns the settings of scripts/share.ts. */
export const readShareConfig = (): Static<typeof ShareSettings> =>
  readSettings(ShareSettings, importerSources)

/** Returns the URL with which every link to the service begins, without a final slash. */
export function getPublicBaseUrl(config: {
  PUBLIC_BASE_URL?: string
  HOST: string
  PORT: number
}): string {
  return (config.PUBLIC_BASE_URL ?? `http://${config.HOST}:${config.PORT}`).replace(/\/+$/, '')
}

/** The variables from which a setting is read. The first one that is set is used. */
type Sources = Record<string, readonly string[]>
const importerSources: Sources = { DATABASE_URL: ['IMPORTER_DATABASE_URL', 'DATABASE_URL'] }

/** Checks that the schema cannot express, for values that match it. */
const furtherChecks: Record<string, (value: unknown, key: string) => string | null> = {
  DATABASE_URL: findUrlProblem,
  REPLICA_DATABASE_URL: findUrlProblem,
  API_DATABASE_URL: findUrlProblem,
  INDEXER_DATABASE_URL: findUrlProblem,
  IMPORTER_DATABASE_URL: findUrlProblem,
  TRUST_PROXY: findProxyProblem,
}
/** Problems of values that the schema rejects, if its description does not explain them. */
const explanations: Record<string, (value: unknown) => string | null> = {
  ANONYMOUS_SCOPES: describeScopeProblem,
}

/** Returns the settings in the schema. Throws one error that lists every problem. */
function readSettings<Schema extends TObject>(
  schema: Schema,
  sources: Sources = {},
): Static<Schema> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [key, property] of Object.entries(schema.properties)) {
    const variables = sources[key] ?? [key]
    const text = variables.map((name) => readVariable(name, problems)).find(Boolean)
    if (text !== undefined)
      values[key] = property.type === 'array' ? splitList(text) : Value.Convert(property, text)
  }
  const settings = Value.Default(schema, values)
  const invalidKeys = new Set(
    [...Value.Errors(schema, settings)].map(({ path }) => path.split('/')[1] ?? ''),
  )
  for (const key of invalidKeys) {
    const { description = '' } = schema.properties[key] ?? {}
    const problem = `${key} is ${key in values ? 'not valid' : 'missing'}: ${description}`
    problems.push(explanations[key]?.(values[key]) ?? problem)
  }
  for (const [key, findProblem] of Object.entries(furtherChecks)) {
    const problem = invalidKeys.has(key) ? null : findProblem(values[key], key)
    if (problem !== null) problems.push(problem)
  }
  if (problems.length > 0) {
    const lines = problems.map((problem) => `  ${problem}\n`)
    throw new Error(`The configuration is not valid:\n${lines.join('')}See .env.example.`)
  }
  return settings as Static<Schema>
}

/** Returns the problem of the URL of a database, if it is set. */
function findUrlProblem(url: unknown, key: string): string | null {
  if (typeof url !== 'string') return null
  try {
    const { needsPrimary } = parsePostgresUrl(url)
    if (needsPrimary && key === 'REPLICA_DATABASE_URL')
      return `${key} is not valid: it must name one host, without target_session_attrs`
    return null
  } catch (error) {
    return `${key} is not valid: ${(error as Error).message}`
  }
}

/** Explains why callers without a key cannot have this scope. Returns null if it is not listed. */
function describeScopeProblem(scopes: unknown): string | null {
  if (!Array.isArray(scopes) || !scopes.includes('stats:detail')) return null
  return (
    'ANONYMOUS_SCOPES may not contain stats:detail: names of customers are personal data. ' +
    'Create a key for each caller that may read them: ' +
    'scripts/api-key.ts create --scopes stats:read,stats:detail'
  )
}

/** Returns the problem of TRUST_PROXY. The error of Fastify would name only the invalid address. */
function findProxyProblem(entries: unknown): string | null {
  if (!Array.isArray(entries)) return null
  const wrong = entries.findIndex((entry) => !isProxyRange(entry))
  if (wrong === -1) return null
  return (
    `TRUST_PROXY is not valid: entry ${wrong + 1} must be an address such as 10.0.0.7, ` +
    'a network such as 10.0.0.0/28, or loopback, linklocal or uniquelocal'
  )
}

function readVariable(name: string, problems: string[]): string | undefined {
  const value = process.env[name]
  const file = process.env[`${name}_FILE`]
  if (!file || !(secrets as readonly string[]).includes(name)) return value
  if (value) {
    problems.push(`${name} and ${name}_FILE are both set: keep one of them`)
    return value
  }
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    problems.push(`${name}_FILE cannot be read: ${reason}`)
    return undefined
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/** Parses `name=url`, which the schema has checked. The URL may contain `=` as well. */
function parseSearchEngine(entry: string): SearchEngineUrl {
  const separator = entry.indexOf('=')
  return { name: entry.slice(0, separator), url: entry.slice(separator + 1) }
}
