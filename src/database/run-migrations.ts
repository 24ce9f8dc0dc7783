// The migrations in their order, and how they run. A migration is frozen once it has landed: a change is a new migration.
import type { Kysely } from 'kysely'
import { type MigrationResult, Migrator } from 'kysely/migration'
import * as catalogueAndQuotes from './migrations/0001-catalogue-and-quotes.ts'
import * as searchSync from './migrations/0002-search-sync.ts'
import * as quoteLinks from './migrations/0003-quote-links.ts'
import * as apiKeys from './migrations/0004-api-keys.ts'
import * as statsSummary from './migrations/0005-stats-summary.ts'
import * as searchVersion from './migrations/0006-search-version.ts'
import * as indexers from './migrations/0007-indexers.ts'
import * as quoteShareViews from './migrations/0008-quote-share-views.ts'
import * as keyUse from './migrations/0009-key-use.ts'
import * as leastPrivilege from './migrations/0010-least-privilege.ts'
import * as statsInOrder from './migrations/0011-stats-in-order.ts'
import * as quotesNotMisdated from './migrations/0012-quotes-not-misdated.ts'
import * as productsByHsCode from './migrations/0013-products-by-hs-code.ts'

const migrations = {
  '0001-catalogue-and-quotes': catalogueAndQuotes,
  '0002-search-sync': searchSync,
  '0003-quote-links': quoteLinks,
  '0004-api-keys': apiKeys,
  '0005-stats-summary': statsSummary,
  '0006-search-version': searchVersion,
  '0007-indexers': indexers,
  '0008-quote-share-views': quoteShareViews,
  '0009-key-use': keyUse,
  '0010-least-privilege': leastPrivilege,
  '0011-stats-in-order': statsInOrder,
  '0012-quotes-not-misdated': quotesNotMisdated,
  '0013-products-by-hs-code': productsByHsCode,
}

function migrator<DB>(db: Kysely<DB>): Migrator {
  return new Migrator({ db, provider: { getMigrations: async () => migrations } })
}

/**
 * Applies the pending migrations in one transaction, up to `last` where that is named, and returns their names. Safe to run twice and from several
 * processes at once: they queue on Kysely's advisory lock. Throws the error of the migration that failed, with nothing of the run left behind.
 */
export async function migrate<DB>(
  db: Kysely<DB>,
  last?: keyof typeof migrations,
): Promise<string[]> {
  const { error, results = [] } = await (last
    ? migrator(db).migrateTo(last)
    : migrator(db).migrateToLatest())
  const failed = results.find((result: MigrationResult) => result.status === 'Error')
  const what = failed
    ? `Migration ${failed.migrationName} failed`
    : 'The migrations could not begin'
  if (error) throw new Error(`${what}: ${messageOf(error)}`, { cause: error })
  return results.map((result) => result.migrationName)
}

/** Names of the migrations that this code knows and the database lacks. */
export async function pendingMigrations<DB>(db: Kysely<DB>): Promise<string[]> {
  return (await migrator(db).getMigrations())
    .filter((migration) => !migration.executedAt)
    .map((migration) => migration.name)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
