// Applies the pending migrations, records the company, and creates the roles and engine keys of the
// programs.
import { readCompany } from '../src/company/company-file.ts'
import { recordCompany } from '../src/company/company-record.ts'
import { readMigrateConfig } from '../src/config.ts'
import { parsePostgresUrl } from '../src/database/postgres-address.ts'
import { createKysely, type Database, openPool } from '../src/database/postgres-pool.ts'
import { lockTimeoutSettings, retryForLocks } from '../src/database/retry-for-locks.ts'
import { grantRoles, type Login, type Program } from '../src/database/role-grants.ts'
import {
  applyNextMigration,
  readNewerMigrations,
  readServerVersion,
  requireServerVersion,
} from '../src/database/run-migrations.ts'
import { isBehindPooler } from '../src/database/transaction-pooling.ts'
import { openIndexingClient } from '../src/indexing/engine.ts'
import { ensurePermanentKeys } from '../src/indexing/keys.ts'
import { recordLinkSettings } from '../src/quotes/links/manage-links.ts'
import { checkLogoInPdf } from '../src/quotes/pdf/check-logo.ts'
import { recordLanguages } from '../src/quotes/record-languages.ts'
import { type CommandContext, defineProgram, processContext } from './cli/command.ts'

const help = `
Usage: node scripts/migrate.ts

Applies the pending migrations to DATABASE_URL, and records the company of COMPANY_FILE (seller
block, base currency, time zone), the languages that have texts, and the settings of quote links
(SHARE_MAX_LINES, SHARE_RETENTION_DAYS). If API_DATABASE_URL, INDEXER_DATABASE_URL or
IMPORTER_DATABASE_URL are set, creates the roles that they name, with their passwords, and grants
each what its program needs and nothing else. If MEILI_URL and MEILI_MASTER_KEY are set, creates
the keys of the API and the indexer in Meilisearch. Changes nothing if PostgreSQL is older than 15,
or if no PDF can show the logo of the company.

Each migration is applied in a transaction of its own. If one fails, or this program is stopped, the
earlier ones remain applied, and the next run continues from there. Safe to run again, to kill at
any time, and to run from several processes at once.

A migration that needs a lock gives up after two seconds, so that nobody else waits longer, and is
tried again for ten minutes. Migrations of a newer release are left as they are, so that an older
release can run again.
`

/** The timeout of each request to Meilisearch. */
const engineTimeoutMs = 10_000

/** Migrations hold a lock of their session, which a pooler would share with other clients. */
const poolerAdvice =
  'DATABASE_URL leads through a pooler such as PgBouncer. Migrations need a lock that a pooler ' +
  'does not keep: let DATABASE_URL lead to PostgreSQL itself. API_DATABASE_URL, ' +
  'INDEXER_DATABASE_URL and IMPORTER_DATABASE_URL may lead through the pooler.'

export const migrate = defineProgram(help, {}, async (_options, _words, context) => {
  const { env, printLine, printError } = context
  const config = readMigrateConfig(env)
  const company = readCompany(config.COMPANY_FILE)
  await checkLogoInPdf(company.brand)
  const pool = openPool(config.DATABASE_URL, { connections: 2, settings: lockTimeoutSettings })
  const db = createKysely(pool)
  try {
    if (await isBehindPooler(pool)) throw new Error(poolerAdvice)
    requireServerVersion(await readServerVersion(db))
    const applied = await applyMigrations(db, context)
    await retryForLocks(db, () => recordCompany(db, company), printError)
    await recordLanguages(db)
    await recordLinkSettings(db, {
      maxLines: config.SHARE_MAX_LINES,
      retentionDays: config.SHARE_RETENTION_DAYS,
    })
    const logins = readRoleLogins(config)
    const notes = [
      ...(await retryForLocks(db, () => grantRoles(db, logins), printError)),
      ...(await describeNewerMigrations(db)),
    ]
    if (config.MEILI_URL && config.MEILI_MASTER_KEY) {
      const replacedKeys = await ensurePermanentKeys(
        openIndexingClient(config.MEILI_URL, config.MEILI_MASTER_KEY, {
          timeoutMs: engineTimeoutMs,
        }),
      )
      for (const name of replacedKeys)
        notes.push(`The key "${name}" of the search engine had other rights and was replaced.`)
    }
    for (const [program, { name }] of Object.entries(logins))
      printLine(`The role ${name} has the rights that the ${program} needs.`)
    for (const note of notes) printLine(`Note: ${note}`)
    if (applied === 0) printLine('The schema is up to date.')
    return 0
  } finally {
    await db.destroy()
  }
})

/** Applies the pending migrations, prints which, and returns how many. Throws when one fails. */
async function applyMigrations(
  db: Database,
  { printLine, printError }: CommandContext,
): Promise<number> {
  const applied: string[] = []
  try {
    for (;;) {
      const name = await retryForLocks(db, () => applyNextMigration(db), printError)
      if (name === null) return applied.length
      applied.push(name)
    }
  } finally {
    // Printed after a failure too, because these migrations remain applied.
    if (applied.length > 0) printLine(`Applied ${applied.join(', ')}.`)
  }
}

async function describeNewerMigrations(db: Database): Promise<string[]> {
  const newer = await readNewerMigrations(db)
  if (newer.length === 0) return []
  return [
    `The database has migrations of a newer release (${newer.join(', ')}). They are left as they ` +
      'are.',
  ]
}

type RoleUrls = {
  API_DATABASE_URL?: string
  INDEXER_DATABASE_URL?: string
  IMPORTER_DATABASE_URL?: string
}

/** Returns the login of each program whose URL is set. */
function readRoleLogins(urls: RoleUrls): Partial<Record<Program, Login>> {
  const settings: [Program, keyof RoleUrls][] = [
    ['api', 'API_DATABASE_URL'],
    ['indexer', 'INDEXER_DATABASE_URL'],
    ['importer', 'IMPORTER_DATABASE_URL'],
  ]
  return Object.fromEntries(
    settings.flatMap(([program, setting]) => {
      const url = urls[setting]
      return url === undefined ? [] : [[program, parseLogin(url, setting)]]
    }),
  )
}

/** Returns the user name and password of a URL. Throws if it lacks one of them. */
function parseLogin(url: string, setting: string): Login {
  const { login } = parsePostgresUrl(url)
  if (!login.name || !login.password)
    throw new Error(`${setting} needs a user name and a password: the role is created with them.`)
  return login
}

if (import.meta.main) process.exitCode = await migrate(processContext)
