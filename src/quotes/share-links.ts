// Making, listing and revoking quote links. The token is shown once; only its hash is stored.
import { createHash, randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

export type ShareRequest = {
  number: string
  version?: number
  expiresAt?: Date | null
  language?: 'es' | 'en'
}

/** A quote that cannot be shared: there is none, it is a draft, or its totals disagree with its lines. The message says which. */
export class NotShareable extends Error {}

const refusals = ['TQ404', 'TQ409']

/**
 * Freezes the document of a quote (the newest version unless one is given) and returns the token of its link: 32 random bytes in base64url.
 * Throws NotShareable.
 */
export async function shareQuote(
  db: Kysely<Tables>,
  { number, version, expiresAt, language }: ShareRequest,
): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  try {
    await sql`select create_quote_share(${number}, ${version ?? null}::integer, ${hashToken(token)}, ${expiresAt ?? null}::timestamptz,
      ${language ?? null})`.execute(db)
  } catch (error) {
    if (error instanceof Error && 'code' in error && refusals.includes(String(error.code)))
      throw new NotShareable(error.message, { cause: error })
    throw error
  }
  return token
}

/** The links of a quote, newest first, with how often each was opened (0 where that is not counted). */
export async function listShares(db: Kysely<Tables>, number: string) {
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
      sql<number>`(select count(*)::integer from quote_share_views where share_id = quote_shares.id)`.as(
        'views',
      ),
      sql<Date | null>`(select max(viewed_at) from quote_share_views where share_id = quote_shares.id)`.as(
        'lastViewedAt',
      ),
    ])
    .orderBy('quote_shares.id', 'desc')
    .execute()
}

/** Withdraws a link at once, by its id in the list. False when there is no such link or it was withdrawn before. */
export async function revokeShare(db: Kysely<Tables>, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('quote_shares')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** SHA-256 of the text of a token: of the text, since its last character has spare bits. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
