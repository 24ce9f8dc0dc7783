// Writes .env with random secrets, for docker compose or for services without containers, and a
// first company file.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { readCompany } from '../src/company/company-file.ts'
import { deriveIndexerKey, deriveSearchKey } from '../src/indexing/keys.ts'
import { type CommandContext, defineProgram, processContext } from './cli/command.ts'
import {
  addToEnv,
  createEngineKeys,
  createSecret,
  describeSetting,
  type SettingName,
  writeAtomically,
} from './env/env-file.ts'
import {
  createDatabaseSql,
  createServicesEnv,
  optionalForServices,
  requiredByServices,
} from './env/env-without-containers.ts'

const help = `
Usage: node scripts/env.ts [--without-containers]        (or: make env)

Writes .env, readable by its owner only, with random passwords and keys for docker compose, and
company.json, a copy of company.example.json. An existing .env keeps every value; passwords, keys
and settings that a newer version needs are added to it. An existing company.json is only checked.
All are written to the current directory.

  --without-containers  for services on this machine instead: .env has the URLs of PostgreSQL, Redis
                        and Meilisearch on 127.0.0.1. Also writes create-database.sql, which creates
                        the owner and the database. docs/operations/without-containers.md goes on
                        from there. (or: make env MODE=without-containers)
`

const secrets = [
  'POSTGRES_PASSWORD',
  'API_PASSWORD',
  'INDEXER_PASSWORD',
  'IMPORTER_PASSWORD',
  'REDIS_PASSWORD',
  'MEILI_MASTER_KEY',
  'MEILI_INDEXER_KEY',
  'MEILI_SEARCH_KEY',
] as const

/**
 * The settings that docker-compose.yml passes to the programs. HOST and PORT are the
 * address of the API on this machine.
 */
const settings = [
  'HOST',
  'PORT',
  'PUBLIC_BASE_URL',
  'ANONYMOUS_SCOPES',
  'ALLOWED_HOSTS',
  'TRUST_PROXY',
  'MORE_SEARCH_ENGINES',
  'DATABASE_CONNECTIONS',
  'SEARCH_CACHE_MB',
  'SEARCH_REPORT',
  'SEARCH_LIMIT_PER_SECOND',
  'STATS_LIMIT_PER_MINUTE',
  'LINK_LIMIT_PER_MINUTE',
  'CALLER_GUESS_LIMIT_PER_MINUTE',
  'LINK_GUESS_LIMIT_PER_MINUTE',
  'SHED_DELAY_MS',
  'COUNT_VIEWS',
  'QUOTE_REPLIES',
  'SHARE_MAX_LINES',
  'SHARE_RETENTION_DAYS',
  'WEB_PARTS',
  'HOME_PALETTE',
  'HOME_QUOTE_URL',
  'SERVE_OPENAPI',
  'SERVE_DOCS',
  'START_TIMEOUT_SECONDS',
  'KEEP_ALIVE_SECONDS',
  'STOP_DELAY_SECONDS',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_TRACES_SAMPLER_ARG',
  'POPULARITY_MINUTES',
  'LOG_LEVEL',
] as const

export const env = defineProgram(
  help,
  { 'without-containers': { type: 'boolean', default: false } },
  async ({ 'without-containers': isWithoutContainers }, _words, context) => {
    if (isWithoutContainers) prepareServicesEnv(context)
    else prepareComposeEnv(context)
    prepareCompanyFile(context)
    context.printLine(
      isWithoutContainers
        ? 'Next: docs/operations/without-containers.md, "Databases".'
        : 'Next: docker compose up',
    )
    return 0
  },
)

function prepareComposeEnv(context: CommandContext): void {
  const file = join(context.directory, '.env')
  if (existsSync(file)) {
    completeExistingEnv(context, 'docker compose', secrets, settings, {
      API_PASSWORD: createSecret,
      INDEXER_PASSWORD: createSecret,
      IMPORTER_PASSWORD: createSecret,
      REDIS_PASSWORD: createSecret,
    })
    return
  }
  writeAtomically(file, createComposeEnv(), 0o600)
  context.printLine(
    'Wrote .env. Keep it with your backups: ' +
      'the database only accepts the password that it was created with.',
  )
}

function prepareServicesEnv(context: CommandContext): void {
  const file = join(context.directory, '.env')
  if (existsSync(file)) {
    completeExistingEnv(context, 'the services', requiredByServices, optionalForServices, {})
    return
  }
  const { text, ownerPassword } = createServicesEnv()
  const databaseFile = join(context.directory, 'create-database.sql')
  writeAtomically(databaseFile, createDatabaseSql(ownerPassword), 0o600)
  writeAtomically(file, text, 0o600)
  context.printLine(
    'Wrote .env and create-database.sql. Keep .env with your backups. ' +
      'Run create-database.sql once as an administrator of PostgreSQL, then delete it.',
  )
}

/** Adds what an older .env lacks. Throws, and changes nothing, if it cannot be completed. */
function completeExistingEnv(
  { directory, printLine }: CommandContext,
  user: string,
  required: readonly string[],
  optional: readonly SettingName[],
  creators: Record<string, () => string>,
): void {
  const file = join(directory, '.env')
  const text = readFileSync(file, 'utf8')
  const env = parseEnv(text)
  const added = findMissingSecrets(env, required, creators)
  checkEnv({ ...env, ...added }, user, required)
  const newSettings = optional.filter((name) => !(name in env))
  if (Object.keys(added).length === 0 && newSettings.length === 0) {
    printLine('.env exists and is complete: nothing was changed.')
    return
  }
  const { mode } = statSync(file)
  writeAtomically(file, addToEnv(text, added, newSettings.flatMap(describeSetting)), mode & 0o777)
  const names = [...Object.keys(added), ...newSettings].join(', ')
  printLine(`.env exists. Added what it lacked: ${names}. Nothing else was changed.`)
}

function prepareCompanyFile({ directory, printLine }: CommandContext): void {
  const file = join(directory, 'company.json')
  const example = join(import.meta.dirname, '../company.example.json')
  const isNew = !existsSync(file)
  // The file is not secret, and the service in its container runs as another user.
  if (isNew) writeAtomically(file, readFileSync(example, 'utf8'), 0o644)
  const { baseCurrency, timeZone } = readCompany(file)
  printLine(
    isNew
      ? 'Wrote company.json, a fictional company. Replace it with your own before you send the ' +
          'first quote. ' +
          `Check its base currency (${baseCurrency}) and time zone (${timeZone}) before ` +
          'the first start: these two cannot change after the database is created.'
      : 'company.json exists and is valid: nothing was changed.',
  )
}

/** Returns the text of a new .env with random secrets and the default of every setting. */
function createComposeEnv(): string {
  const values = {
    POSTGRES_PASSWORD: createSecret(),
    API_PASSWORD: createSecret(),
    INDEXER_PASSWORD: createSecret(),
    IMPORTER_PASSWORD: createSecret(),
    REDIS_PASSWORD: createSecret(),
    ...createEngineKeys(),
  }
  return [
    '# Written by `make env` for docker compose. .env.example explains every setting.',
    '# The databases only accept the secrets that they were created with: keep both together.',
    ...secrets.map((name) => `${name}=${values[name]}`),
    '',
    ...settings.flatMap(describeSetting),
    '',
  ].join('\n')
}

/** Throws an error that lists missing values and keys that do not match the master key. */
function checkEnv(env: NodeJS.Dict<string>, user: string, required: readonly string[]): void {
  const missing = required.filter((name) => !env[name])
  const problems = findWrongKeys(env)
  if (missing.length > 0)
    problems.unshift(
      `${user} needs ${missing.join(', ')}. ` +
        'Take the values from a backup of .env: the servers only know those that they were ' +
        'started with. A new .env would lock you out.',
    )
  if (problems.length > 0)
    throw new Error(
      `.env exists and was not changed, but:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
}

/** The keys of Meilisearch are derived from the master key. */
function deriveKeys(masterKey: string): Record<string, string> {
  return {
    MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
    MEILI_SEARCH_KEY: deriveSearchKey(masterKey),
  }
}

function findWrongKeys(env: NodeJS.Dict<string>): string[] {
  if (!env.MEILI_MASTER_KEY) return []
  return Object.entries(deriveKeys(env.MEILI_MASTER_KEY))
    .filter(([name, key]) => env[name] !== key)
    .map(([name, key]) => `this MEILI_MASTER_KEY needs ${name}=${key}`)
}

/**
 * Returns new values for missing secrets that a server takes over when it is next started:
 * `migrate` sets the passwords of the roles.
 */
function findMissingSecrets(
  env: NodeJS.Dict<string>,
  required: readonly string[],
  creators: Record<string, () => string>,
): Record<string, string> {
  const derived = env.MEILI_MASTER_KEY ? deriveKeys(env.MEILI_MASTER_KEY) : {}
  return Object.fromEntries(
    required
      .filter((name) => !env[name])
      .map((name) => [name, creators[name]?.() ?? derived[name]])
      .filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

if (import.meta.main) process.exitCode = await env(processContext)
