// Finds the link that was created last.
import type { TestDatabase } from '../database/test-database.ts'

/** Returns the id of the newest link. */
export async function findNewestLinkId({ db }: Pick<TestDatabase, 'db'>): Promise<string> {
  const { id } = await db
    .selectFrom('quote_shares')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return id
}
