// Creates, lists and revokes quote links.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { generateLinkToken, hashLinkToken } from './link-token.ts'

/** Defaults: the newest version, no expiry, and the language of the quote. */
export type ShareLinkRequest = {
  number: string
  version?: number
  expiresAt?: Date | null
  language?: 'es' | 'en'
}

/**
 * The quote cannot be shared: it does not exist, it is a draft, or its totals do not match its
 * lines. The message says which.
 */
export class QuoteNotShareableError extends Error {}

// The SQLSTATEs that create_quote_share raises for a quote that cannot be shared.
const notShareableCodes = ['TQ404', 'TQ409']

/**
 * Freezes the document of a quote and returns the token of the new link. The token cannot be read
 * again, because the database stores only its hash. Throws QuoteNotShareableError.
 */
export async function createShareLink(
  db: Kysely<Tables>,
  { number, version, expiresAt, language }: ShareLinkRequest,
): Promise<string> {
  const token = generateLinkToken()
  try {
    await sql`
      select create_quote_share(
        ${number}, ${version ?? null}::integer, ${hashLinkToken(token)},
        ${expiresAt ?? null}::timestamptz, ${language ?? null})`.execute(db)
  } catch (error) {
    if (error instanceof Error && 'code' in error && notShareableCodes.includes(String(error.code)))
      throw new QuoteNotShareableError(error.message, { cause: error })
    throw error
  }
  return token
}

/** Returns the links of all versions of a quote, newest first, with the counted views. */
export async function listShareLinks(db: Kysely<Tables>, number: string) {
  return db
    .selectFrom('quote_shares')
    .innerJoin('quotes', 'quotes.id', 'quote_shares.quote_id')
    .where('quotes.number', '=', number)
    .select([
      'quote_shares.id',
      'quotes.version',
      'quote_shares.created_at as createdAt',
      'expires_at as expiresAt',
      'revoked_at as revokedAt',
    ])
    .select([
      sql<number>`(
        select count(*)::integer from quote_share_views where share_id = quote_shares.id
      )`.as('views'),
      sql<Date | null>`(
        select max(viewed_at) from quote_share_views where share_id = quote_shares.id
      )`.as('lastViewedAt'),
    ])
    .orderBy('quote_shares.id', 'desc')
    .execute()
}

/**
 * Revokes a link immediately, by its id in the list.
 * Returns false if the link does not exist or is already revoked.
 */
export async function revokeShareLink(db: Kysely<Tables>, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('quote_shares')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
