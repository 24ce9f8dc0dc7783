// Writes the files that docker compose needs: .env with random secrets, and a first company file.
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { readCompany } from '../src/company/company.ts'
import { Settings } from '../src/config.ts'
import { indexerKey, searchKey } from '../src/indexing/engine-keys.ts'
import { runCommand } from './cli/command.ts'

const help = `
Usage: node scripts/env.ts        (or: make env)

Writes .env, readable by its owner only, with random passwords and keys for docker compose, and
company.json, a copy of company.example.json. Existing files are only checked, never changed. Both
are written to the current directory.
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
  'SEARCH_CACHE_MB',
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
  'POPULARITY_MINUTES',
  'LOG_LEVEL',
] as const

await runCommand(help, {}, async () => {
  prepareEnv()
  prepareCompanyFile()
  console.log('Next: docker compose up')
  return 0
})

function prepareEnv(): void {
  if (existsSync('.env')) {
    checkEnv(parseEnv(readFileSync('.env', 'utf8')))
    console.log('.env exists and is complete: nothing was changed.')
    return
  }
  writeAtomically('.env', createEnv(), 0o600)
  console.log(
    'Wrote .env. Keep it with your backups: ' +
      'the database only accepts the password that it was created with.',
  )
}

function prepareCompanyFile(): void {
  const example = join(import.meta.dirname, '../company.example.json')
  const isNew = !existsSync('company.json')
  // The file is not secret, and the service in its container runs as another user.
  if (isNew) writeAtomically('company.json', readFileSync(example, 'utf8'), 0o644)
  const { baseCurrency, timeZone } = readCompany('company.json')
  console.log(
    isNew
      ? 'Wrote company.json, a fictional company. Replace it by yours before you send the first ' +
          `quote. Check its base currency (${baseCurrency}) and time zone (${timeZone}) before ` +
          'the first start: these two cannot change after the database is created.'
      : 'company.json exists and is valid: nothing was changed.',
  )
}

/** Returns the text of a new .env with random secrets and the default of every setting. */
function createEnv(): string {
  const createSecret = () => randomBytes(32).toString('base64url')
  const masterKey = createSecret()
  const values = {
    POSTGRES_PASSWORD: createSecret(),
    API_PASSWORD: createSecret(),
    INDEXER_PASSWORD: createSecret(),
    IMPORTER_PASSWORD: createSecret(),
    REDIS_PASSWORD: createSecret(),
    MEILI_MASTER_KEY: masterKey,
    MEILI_INDEXER_KEY: indexerKey(masterKey),
    MEILI_SEARCH_KEY: searchKey(masterKey),
  }
  return [
    '# Written by `make env` for docker compose. .env.example explains every setting.',
    '# The databases only accept the secrets that they were created with: keep both together.',
    ...secrets.map((name) => `${name}=${values[name]}`),
    '',
    ...settings.flatMap((name) => [
      `# ${Settings.properties[name].description}`,
      `${name}=${Settings.properties[name].default ?? ''}`,
    ]),
    '',
  ].join('\n')
}

/** Throws an error that lists missing secrets and keys that do not match the master key. */
function checkEnv(env: NodeJS.Dict<string>): void {
  const missing = secrets.filter((name) => !env[name])
  const problems = findWrongKeys(env)
  if (missing.length > 0)
    problems.unshift(
      `docker compose needs ${missing.join(', ')}. ` +
        'Add what is missing, or rename .env to get a new one.',
    )
  if (problems.length > 0)
    throw new Error(
      `.env exists and was not changed, but:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
}

function findWrongKeys(env: NodeJS.Dict<string>): string[] {
  const { MEILI_MASTER_KEY: masterKey } = env
  if (!masterKey) return []
  const derivedKeys = {
    MEILI_INDEXER_KEY: indexerKey(masterKey),
    MEILI_SEARCH_KEY: searchKey(masterKey),
  }
  return Object.entries(derivedKeys)
    .filter(([name, key]) => env[name] !== key)
    .map(([name, key]) => `this MEILI_MASTER_KEY needs ${name}=${key}`)
}

/** Writes the whole file or nothing, even if the disk is full or the power fails. */
function writeAtomically(file: string, text: string, mode: number): void {
  const temporaryFile = `${file}.new`
  try {
    rmSync(temporaryFile, { force: true })
    writeFileSync(temporaryFile, text, { mode, flush: true })
    // The umask may have removed permissions.
    chmodSync(temporaryFile, mode)
    renameSync(temporaryFile, file)
  } catch (error) {
    rmSync(temporaryFile, { force: true })
    throw error
  }
}
