// Writes what docker compose needs: .env with random secrets, and a company file to start from.
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

Writes .env, readable by you alone, with random passwords and keys for docker compose, and company.json, a copy of company.example.json.
Neither is changed when it is there already; then it is only checked. Both are written to the current directory.
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

/** What docker-compose.yml hands on to the API and the indexer; HOST and PORT are where it can be reached on this machine. */
const settings = [
  'HOST',
  'PORT',
  'PUBLIC_BASE_URL',
  'ANONYMOUS_SCOPES',
  'TRUST_PROXY',
  'MORE_SEARCH_ENGINES',
  'SEARCH_MEMORY_MB',
  'SEARCH_LIMIT_PER_SECOND',
  'STATS_LIMIT_PER_MINUTE',
  'LINK_LIMIT_PER_MINUTE',
  'CALLER_GUESS_LIMIT_PER_MINUTE',
  'LINK_GUESS_LIMIT_PER_MINUTE',
  'SHED_DELAY_MS',
  'COUNT_VIEWS',
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
  if (existsSync('.env')) {
    checkEnv(parseEnv(readFileSync('.env', 'utf8')))
    console.log('.env is there already and complete: nothing is changed.')
  } else {
    writeWhole('.env', newEnv(), 0o600)
    console.log(
      'Wrote .env. Keep it with your backups: the database goes on asking for the password that it was created with.',
    )
  }
  const isNew = !existsSync('company.json')
  // Not secret, and the service in its container is another user than the one who runs this.
  if (isNew)
    writeWhole(
      'company.json',
      readFileSync(join(import.meta.dirname, '../company.example.json'), 'utf8'),
      0o644,
    )
  const { baseCurrency, timeZone } = readCompany('company.json')
  console.log(
    isNew
      ? `Wrote company.json, a fictional company. Put yours in it before you send the first quote, and check its base currency (${baseCurrency}) and time zone (${timeZone}) before the first start: these two cannot change once the database is created.`
      : 'company.json is there already and valid: nothing is changed.',
  )
  console.log('Next: docker compose up')
  return 0
})

function newEnv(): string {
  const random = () => randomBytes(32).toString('base64url')
  const masterKey = random()
  const values = {
    POSTGRES_PASSWORD: random(),
    API_PASSWORD: random(),
    INDEXER_PASSWORD: random(),
    IMPORTER_PASSWORD: random(),
    REDIS_PASSWORD: random(),
    MEILI_MASTER_KEY: masterKey,
    MEILI_INDEXER_KEY: indexerKey(masterKey),
    MEILI_SEARCH_KEY: searchKey(masterKey),
  }
  return [
    '# Made by `make env` for docker compose. .env.example explains every setting.',
    '# The secrets belong to the databases that were created with them: keep them together.',
    ...secrets.map((name) => `${name}=${values[name]}`),
    '',
    ...settings.flatMap((name) => [
      `# ${Settings.properties[name].description}`,
      `${name}=${Settings.properties[name].default ?? ''}`,
    ]),
    '',
  ].join('\n')
}

function checkEnv(env: NodeJS.Dict<string>): void {
  const { MEILI_MASTER_KEY: masterKey } = env
  const missing = secrets.filter((name) => !env[name])
  const problems = [
    ...(missing.length > 0
      ? [
          `docker compose needs ${missing.join(', ')}. Add what is missing, or move .env away to get a new one.`,
        ]
      : []),
    ...(masterKey
      ? wrongKeys(env, {
          MEILI_INDEXER_KEY: indexerKey(masterKey),
          MEILI_SEARCH_KEY: searchKey(masterKey),
        })
      : []),
  ]
  if (problems.length > 0)
    throw new Error(
      `.env is there already and left as it is, but:\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
}

function wrongKeys(env: NodeJS.Dict<string>, right: Record<string, string>): string[] {
  return Object.entries(right)
    .filter(([name, key]) => env[name] !== key)
    .map(([name, key]) => `to that MEILI_MASTER_KEY belongs ${name}=${key}`)
}

/** There is either the whole file or none, also after a full disk or a power cut. */
function writeWhole(file: string, text: string, mode: number): void {
  const unfinished = `${file}.new`
  try {
    rmSync(unfinished, { force: true })
    writeFileSync(unfinished, text, { mode, flush: true })
    chmodSync(unfinished, mode) // whatever the umask
    renameSync(unfinished, file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}
