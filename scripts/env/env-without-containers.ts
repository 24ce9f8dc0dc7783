// The .env of services on one machine, and the SQL that creates their database.
import { Settings } from '../../src/config/settings-schema.ts'
import { createEngineKeys, createSecret, describeSetting, type SettingName } from './env-file.ts'

/** What a .env without containers must have. */
export const requiredByServices = [
  'DATABASE_URL',
  'API_DATABASE_URL',
  'INDEXER_DATABASE_URL',
  'IMPORTER_DATABASE_URL',
  'MEILI_URL',
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'MEILI_SEARCH_KEY',
] as const

const database = 'quotes'
const owner = 'quotes'

/** The other settings, with their defaults. */
export const optionalForServices = (Object.keys(Settings.properties) as SettingName[]).filter(
  (name) => name !== 'REDIS_URL' && !(requiredByServices as readonly string[]).includes(name),
)

/** Returns the text of a new .env, and the password of the owner of the database. */
export function createServicesEnv(): { text: string; ownerPassword: string } {
  const ownerPassword = createSecret()
  const url = (name: string, password: string) =>
    `postgres://${name}:${password}@127.0.0.1:5432/${database}`
  const values = {
    DATABASE_URL: url(owner, ownerPassword),
    API_DATABASE_URL: url('quotes_api', createSecret()),
    INDEXER_DATABASE_URL: url('quotes_indexer', createSecret()),
    IMPORTER_DATABASE_URL: url('quotes_importer', createSecret()),
    REDIS_URL: `redis://:${createSecret()}@127.0.0.1:6379`,
    MEILI_URL: 'http://127.0.0.1:7700',
    ...createEngineKeys(),
  }
  const text = [
    '# Written by `make env MODE=without-containers`. .env.example explains every setting.',
    '# The databases only accept the secrets that they were created with: keep both together.',
    ...Object.entries(values).map(([name, value]) => `${name}=${value}`),
    '',
    ...optionalForServices.flatMap(describeSetting),
    '',
  ].join('\n')
  return { text, ownerPassword }
}

/**
 * Returns SQL for an administrator, which creates the owner and the database. `migrate` then
 * creates the roles of the programs.
 */
export function createDatabaseSql(ownerPassword: string): string {
  return [
    '-- Run once as an administrator: sudo -u postgres psql < create-database.sql',
    `create role ${owner} login createrole password '${ownerPassword}';`,
    // As in the tests: sorted by code point, with Unicode letters.
    `create database ${database} owner ${owner} template template0 encoding 'UTF8'`,
    "  locale 'C.UTF-8';",
    `grant pg_read_all_stats to ${owner};`,
    '',
  ].join('\n')
}
