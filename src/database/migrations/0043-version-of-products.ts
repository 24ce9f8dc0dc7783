// Changes the version of the summary with a statement of many quotes of which only the figures by
// product change, because all others cancel each other out.
import type { Kysely } from 'kysely'
import { defineDetail } from './0022-customers-and-products.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await defineDetail(db)
}
