// Reading a quote behind a link: one row by the token's hash, and whether the link is still good.
import { type Kysely, sql } from 'kysely'
import { localDate } from '../company/calendar.ts'
import type { Tables } from '../database/table-types.ts'
import type { QuoteDocument, SharedQuote } from './schema.ts'
import { hashToken } from './share-links.ts'

/** An open link. `document` is the canonical JSON as it was frozen; `shareId` is for us alone. */
export type OpenLink = Omit<SharedQuote, 'document'> & {
  state: 'open'
  shareId: string
  document: string
}

/** Shown; or gone, which the visitor may know; or nothing there, for unknown and malformed tokens, drafts and deleted quotes alike. */
export type LinkState = OpenLink | { state: 'expired' | 'revoked' } | { state: 'unknown' }

const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Finds what a token leads to at an instant. A malformed token and a draft cost the same look-up as an unknown token. */
export async function findSharedQuote(
  db: Kysely<Tables>,
  token: string,
  { timeZone, now }: { timeZone: string; now: Date },
): Promise<LinkState> {
  const row = await db
    // Quotes first, as truncating them locks the two: the other way round would be a deadlock.
    .selectFrom('quotes as quote')
    .innerJoin('quote_shares as share', 'share.quote_id', 'quote.id')
    .where('share.token_hash', '=', hashToken(tokenPattern.test(token) ? token : ''))
    .where('quote.status', '<>', 'draft')
    .select([
      'share.id',
      'share.content_hash',
      'share.expires_at',
      'share.revoked_at',
      'quote.status',
      'quote.valid_until',
    ])
    .select(
      // What must not be shown is not even read.
      sql<string>`case when share.revoked_at is null and (share.expires_at is null or share.expires_at > ${now}) then share.document end`.as(
        'document',
      ),
    )
    .executeTakeFirst()
  if (!row || row.status === 'draft') return { state: 'unknown' }
  if (row.revoked_at) return { state: 'revoked' }
  if (row.expires_at && row.expires_at <= now) return { state: 'expired' }
  // A quote stands to the end of its last day where the seller is.
  const outlived =
    row.status === 'sent' && row.valid_until !== null && row.valid_until < localDate(timeZone, now)
  return {
    state: 'open',
    shareId: row.id,
    status: outlived ? 'expired' : row.status,
    link: { expiresAt: row.expires_at?.toISOString() ?? null },
    contentHash: row.content_hash,
    document: row.document,
  }
}

/** The quote with its document parsed. */
export function sharedQuote({ status, link, contentHash, document }: OpenLink): SharedQuote {
  return { status, link, contentHash, document: JSON.parse(document) as QuoteDocument }
}

/** The same as JSON text, with the document as it was frozen: to the byte what its hash was made of. */
export function sharedQuoteJson({ status, link, contentHash, document }: OpenLink): string {
  return `${JSON.stringify({ status, link, contentHash }).slice(0, -1)},"document":${document}}`
}
