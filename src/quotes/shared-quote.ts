// Reading a quote behind a link: one row by the token's hash, and whether the link is still good.
import type { Kysely } from 'kysely'
import { localDate } from '../calendar.ts'
import type { Tables } from '../database/tables.ts'
import type { QuoteDocument, SharedQuote } from './schema.ts'
import { hashToken } from './share.ts'

/** Shown; or gone, which the visitor may know; or nothing there, for unknown and malformed tokens, drafts and deleted quotes alike. */
export type LinkState = { state: 'open'; shared: SharedQuote } | { state: 'expired' | 'revoked' } | { state: 'unknown' }

const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Finds what a token leads to at an instant. A malformed token costs the same look-up as an unknown one. */
export async function findSharedQuote(
  db: Kysely<Tables>,
  token: string,
  { timeZone, now }: { timeZone: string; now: Date },
): Promise<LinkState> {
  const row = await db
    .selectFrom('quote_shares as share')
    .innerJoin('quotes as quote', 'quote.id', 'share.quote_id')
    .where('share.token_hash', '=', hashToken(tokenPattern.test(token) ? token : ''))
    .select(['share.document', 'share.content_hash', 'share.expires_at', 'share.revoked_at', 'quote.status', 'quote.valid_until'])
    .executeTakeFirst()
  if (!row || row.status === 'draft') return { state: 'unknown' }
  if (row.revoked_at) return { state: 'revoked' }
  if (row.expires_at && row.expires_at <= now) return { state: 'expired' }
  // A quote stands to the end of its last day where the seller is.
  const outlived = row.status === 'sent' && row.valid_until !== null && row.valid_until < localDate(timeZone, now)
  return {
    state: 'open',
    shared: {
      status: outlived ? 'expired' : row.status,
      link: { expiresAt: row.expires_at?.toISOString() ?? null },
      contentHash: row.content_hash,
      document: JSON.parse(row.document) as QuoteDocument,
    },
  }
}
