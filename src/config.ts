// The settings of each program. src/config/settings-schema.ts lists all settings, and
// src/config/read-settings.ts reads them from the environment.
import { isIPv6 } from 'node:net'
import { type Static, Type } from '@sinclair/typebox'
import { readSettings } from './config/read-settings.ts'
import { Settings } from './config/settings-schema.ts'

const roleUrls = ['API_DATABASE_URL', 'INDEXER_DATABASE_URL', 'IMPORTER_DATABASE_URL'] as const
/** All settings except those of other programs. */
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

type Env = NodeJS.Dict<string>

const importerSources = { DATABASE_URL: ['IMPORTER_DATABASE_URL', 'DATABASE_URL'] }

/**
 * Returns the settings of the API server. This function and the following ones throw one error that
 * lists every missing or invalid setting.
 */
export const readServerConfig = (env?: Env): ServerConfig =>
  readSettings(ServerSettings, { DATABASE_URL: ['API_DATABASE_URL', 'DATABASE_URL'] }, env)
/** Returns the settings of scripts/indexer.ts. */
export const readIndexerConfig = (env?: Env): IndexerConfig =>
  readSettings(
    IndexerSettings,
    {
      DATABASE_URL: ['INDEXER_DATABASE_URL', 'DATABASE_URL'],
      MEILI_INDEXER_KEY: ['MEILI_INDEXER_KEY', 'MEILI_MASTER_KEY'],
    },
    env,
  )
/** Returns the settings of the scripts that connect to the database as its owner. */
export const readDatabaseConfig = (env: Env): Static<typeof DatabaseSettings> =>
  readSettings(DatabaseSettings, {}, env)
/** Returns the settings of scripts/import.ts. */
export const readImportConfig = (env: Env): Static<typeof DatabaseSettings> =>
  readSettings(DatabaseSettings, importerSources, env)
/** Returns the settings of scripts/stats.ts. */
export const readStatsConfig = (env: Env): Static<typeof StatsScriptSettings> =>
  readSettings(StatsScriptSettings, {}, env)
/** Returns the settings of scripts/migrate.ts. */
export const readMigrateConfig = (env: Env): Static<typeof MigrateSettings> =>
  readSettings(MigrateSettings, {}, env)
/** Returns the settings of scripts/share.ts. */
export const readShareConfig = (env: Env): Static<typeof ShareSettings> =>
  readSettings(ShareSettings, importerSources, env)

type AddressSettings = { PUBLIC_BASE_URL?: string; HOST: string; PORT: number }

function readBaseUrl({ PUBLIC_BASE_URL, HOST, PORT }: AddressSettings): string {
  const host = isIPv6(HOST) ? `[${HOST}]` : HOST
  return (PUBLIC_BASE_URL ?? `http://${host}:${PORT}`).replace(/\/+$/, '')
}

/** A server can listen on these addresses, which stand for all of its own. Nobody can open them. */
const everyAddress = /^(?<scheme>https?:\/\/)(?:0\.0\.0\.0|\[::\])(?=[:/]|$)/

/** Whether no setting says under which host callers reach the service. */
export function isPublicHostUnknown(config: AddressSettings): boolean {
  return everyAddress.test(readBaseUrl(config))
}

/** Returns the URL with which every link to the service begins, without a final slash. */
export function getPublicBaseUrl(config: AddressSettings): string {
  return readBaseUrl(config).replace(everyAddress, '$<scheme>127.0.0.1')
}

/** The name of a search engine in the database, and the URL of its server. */
export type SearchEngineUrl = { name: string; url: string }

/** Returns the search engines, the first of which is SEARCH_ENGINE. */
export function getSearchEngines({
  SEARCH_ENGINE,
  MEILI_URL,
  MORE_SEARCH_ENGINES,
}: ServerConfig): [SearchEngineUrl, ...SearchEngineUrl[]] {
  return [{ name: SEARCH_ENGINE, url: MEILI_URL }, ...MORE_SEARCH_ENGINES.map(parseSearchEngine)]
}

/** Parses `name=url`, which the schema has checked. The URL may contain `=` as well. */
function parseSearchEngine(entry: string): SearchEngineUrl {
  const separator = entry.indexOf('=')
  return { name: entry.slice(0, separator), url: entry.slice(separator + 1) }
}

/**
 * The oldest version that can run the service. Older ones do not set `import.meta.main` in
 * TypeScript files: programs would end at once.
 */
const minNode = { major: 24, minor: 3 }

export function findNodeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > minNode.major || (major === minNode.major && minor >= minNode.minor)) return null
  return (
    `This is Node ${version}, but Node ${minNode.major}.${minNode.minor} is required: ` +
    'run the `make` targets, which install it.'
  )
}
