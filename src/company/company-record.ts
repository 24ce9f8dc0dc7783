// The company in the database: its seller may change, its base currency and time zone may not.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { Company } from './company-file.ts'

/**
 * Updates the seller. Records base currency and time zone once, because all statistics depend on
 * them. Throws if they differ.
 */
export async function recordCompany(db: Kysely<Tables>, company: Company): Promise<void> {
  const seller = JSON.stringify(company.seller)
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('company')
      .values({ base_currency: company.baseCurrency, time_zone: company.timeZone, seller })
      .onConflict((conflict) =>
        conflict
          .column('the_only_row')
          .doUpdateSet({ seller })
          .where('company.seller', 'is distinct from', seller),
      )
      .execute()
    await checkCompany(transaction, company)
  })
}

export async function checkCompany(
  db: Kysely<Tables>,
  { baseCurrency, timeZone }: Company,
): Promise<void> {
  const recorded = await db
    .selectFrom('company')
    .select(['base_currency', 'time_zone'])
    .executeTakeFirst()
  if (!recorded) throw createNotRecordedError()
  if (recorded.base_currency !== baseCurrency || recorded.time_zone !== timeZone) {
    throw new Error(
      `The data was recorded in ${recorded.base_currency} and ${recorded.time_zone}, ` +
        `but the company file says ${baseCurrency} and ${timeZone}. ` +
        'They cannot change once there is data: correct the company file, or start with an ' +
        'empty database. If somebody changed the table company by hand, put it back: ' +
        `update company set base_currency = '${baseCurrency}', time_zone = '${timeZone}'`,
    )
  }
}

/** Returns the error for a database without a company, and therefore without a base currency. */
export function createNotRecordedError(): Error {
  return new Error(
    'The company is not recorded in the database yet: ' +
      'run `make migrate` (scripts/migrate.ts) first.',
  )
}
