// Lists the migrations and applies them. Until the first release a migration may be edited,
// together with the later ones that import it. Afterwards a change of the schema is a new
// migration. There is no 0017.
import { type Kysely, sql } from 'kysely'
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
import * as statsByCurrency from './migrations/0014-stats-by-currency.ts'
import * as ageOfDeltas from './migrations/0015-age-of-deltas.ts'
import * as plainComments from './migrations/0016-plain-comments.ts'
import * as statsDefinition from './migrations/0018-stats-definition.ts'
import * as moneyByStatus from './migrations/0019-money-by-status.ts'
import * as summaryCheck from './migrations/0020-summary-check.ts'
import * as oneAcceptedVersion from './migrations/0021-one-accepted-version.ts'
import * as customersAndProducts from './migrations/0022-customers-and-products.ts'
import * as guardedQuoteLinks from './migrations/0023-guarded-quote-links.ts'
import * as linesInChanges from './migrations/0024-lines-in-changes.ts'
import * as signedLinesAndTaxLabels from './migrations/0025-signed-lines-and-tax-labels.ts'
import * as rateOfBaseCurrency from './migrations/0026-rate-of-base-currency.ts'
import * as boundedSearch from './migrations/0027-bounded-search.ts'
import * as revokeLinksOfAQuote from './migrations/0028-revoke-links-of-a-quote.ts'
import * as indexIdentity from './migrations/0029-index-identity.ts'
import * as apiKeyUsage from './migrations/0030-api-key-usage.ts'
import * as moreLanguages from './migrations/0031-more-languages.ts'
import * as planOfProductChanges from './migrations/0032-plan-of-product-changes.ts'
import * as sizeOfSharedDocuments from './migrations/0033-size-of-shared-documents.ts'
import * as companyWords from './migrations/0034-company-words.ts'
import * as legalTextsInEveryLanguage from './migrations/0035-legal-texts-in-every-language.ts'
import * as searchReport from './migrations/0036-search-report.ts'
import * as validityByMonth from './migrations/0037-validity-by-month.ts'
import * as frozenValidity from './migrations/0038-frozen-validity.ts'
import * as editionsOfTotals from './migrations/0039-editions-of-totals.ts'
import * as linksByDatabaseTime from './migrations/0040-links-by-database-time.ts'
import * as tableOfLanguages from './migrations/0041-table-of-languages.ts'
import * as figuresOfDays from './migrations/0042-figures-of-days.ts'
import * as versionOfProducts from './migrations/0043-version-of-products.ts'
import * as lockOrderOfTheCheck from './migrations/0044-lock-order-of-the-check.ts'
import * as severalServersOfAnEngine from './migrations/0045-several-servers-of-an-engine.ts'
import * as durableRevocations from './migrations/0046-durable-revocations.ts'
import * as wrongSecretsOfKeys from './migrations/0047-wrong-secrets-of-keys.ts'
import * as legalTextsInOtherLanguages from './migrations/0048-legal-texts-in-other-languages.ts'
import * as erasedDocumentsInList from './migrations/0049-erased-documents-in-list.ts'

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
  '0014-stats-by-currency': statsByCurrency,
  '0015-age-of-deltas': ageOfDeltas,
  '0016-plain-comments': plainComments,
  '0018-stats-definition': statsDefinition,
  '0019-money-by-status': moneyByStatus,
  '0020-summary-check': summaryCheck,
  '0021-one-accepted-version': oneAcceptedVersion,
  '0022-customers-and-products': customersAndProducts,
  '0023-guarded-quote-links': guardedQuoteLinks,
  '0024-lines-in-changes': linesInChanges,
  '0025-signed-lines-and-tax-labels': signedLinesAndTaxLabels,
  '0026-rate-of-base-currency': rateOfBaseCurrency,
  '0027-bounded-search': boundedSearch,
  '0028-revoke-links-of-a-quote': revokeLinksOfAQuote,
  '0029-index-identity': indexIdentity,
  '0030-api-key-usage': apiKeyUsage,
  '0031-more-languages': moreLanguages,
  '0032-plan-of-product-changes': planOfProductChanges,
  '0033-size-of-shared-documents': sizeOfSharedDocuments,
  '0034-company-words': companyWords,
  '0035-legal-texts-in-every-language': legalTextsInEveryLanguage,
  '0036-search-report': searchReport,
  '0037-validity-by-month': validityByMonth,
  '0038-frozen-validity': frozenValidity,
  '0039-editions-of-totals': editionsOfTotals,
  '0040-links-by-database-time': linksByDatabaseTime,
  '0041-table-of-languages': tableOfLanguages,
  '0042-figures-of-days': figuresOfDays,
  '0043-version-of-products': versionOfProducts,
  '0044-lock-order-of-the-check': lockOrderOfTheCheck,
  '0045-several-servers-of-an-engine': severalServersOfAnEngine,
  '0046-durable-revocations': durableRevocations,
  '0047-wrong-secrets-of-keys': wrongSecretsOfKeys,
  '0048-legal-texts-in-other-languages': legalTextsInOtherLanguages,
  '0049-erased-documents-in-list': erasedDocumentsInList,
}

type MigrationName = keyof typeof migrations

/**
 * Applies the pending migrations, up to `last` if it is given, each in a transaction of its own.
 * Returns the names of those that this call has applied. Safe to run twice, to be killed at any
 * time, and to run in several processes, which queue on Kysely's advisory lock before each
 * migration. Throws the error of the migration that failed. The earlier ones remain applied.
 */
export async function migrate<DB>(db: Kysely<DB>, last?: MigrationName): Promise<string[]> {
  const applied: string[] = []
  for (;;) {
    const name = await applyNextMigration(db, last)
    if (name === null) return applied
    applied.push(name)
  }
}

/**
 * Applies the first pending migration in a transaction, unless it comes after `last`. Returns its
 * name, or null if nothing is pending. Throws the error of the migration, and leaves the database
 * as it was before it.
 */
export async function applyNextMigration<DB>(
  db: Kysely<DB>,
  last?: MigrationName,
): Promise<string | null> {
  const migrator = await createMigrator(db, last)
  const { error, results = [] } = await migrator.migrateUp()
  if (error) {
    const failed = results.find((result: MigrationResult) => result.status === 'Error')
    const failure = failed
      ? `Migration ${failed.migrationName} failed`
      : 'The migrations could not begin'
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${failure}: ${reason}`, { cause: error })
  }
  return results[0]?.migrationName ?? null
}

/** Returns the names of the migrations that this code has and the database lacks. */
export async function readPendingMigrations<DB>(db: Kysely<DB>): Promise<string[]> {
  const migrator = await createMigrator(db)
  return (await migrator.getMigrations())
    .filter((migration) => !migration.executedAt)
    .map((migration) => migration.name)
}

/** Returns the names of the migrations that the database has and this code does not know. */
export async function readNewerMigrations<DB>(db: Kysely<DB>): Promise<string[]> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists
  `.execute(db)
  if (!tables[0]?.exists) return []
  const { rows } = await sql<{ name: string }>`
    select name from kysely_migration order by name
  `.execute(db)
  return rows.map(({ name }) => name).filter((name) => !(name in migrations))
}

/**
 * The migrator rejects a database with migrations that it does not know. After a newer release has
 * been replaced by this one, these are left as they are.
 */
async function createMigrator<DB>(db: Kysely<DB>, last?: MigrationName): Promise<Migrator> {
  const newer = (await readNewerMigrations(db)).map((name) => [name, { up: async () => undefined }])
  const wanted = Object.entries(migrations).filter(([name]) => last === undefined || name <= last)
  const known = { ...Object.fromEntries(wanted), ...Object.fromEntries(newer) }
  return new Migrator({ db, provider: { getMigrations: async () => known } })
}
