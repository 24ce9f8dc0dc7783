// Reads the quote of a link by the hash of its token, and decides whether the link is open.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { isLinkExpired } from './links/link-expiry.ts'
import { hashLinkToken, isLinkToken } from './links/link-token.ts'
import { showStatus } from './quote-validity.ts'
import type { QuoteDocument, SharedQuote } from './schema.ts'

/**
 * A link whose quote may be shown. `document` is the frozen canonical JSON.
 * `shareId` is internal and must not be sent.
 */
export type OpenLink = Omit<SharedQuote, 'document'> & {
  state: 'open'
  shareId: string
  document: string
}

/**
 * What a visitor may learn about a link. Unknown and malformed tokens, drafts and deleted quotes
 * are all `unknown`, so an attacker cannot tell them apart.
 */
export type LinkState = OpenLink | { state: 'expired' | 'revoked' } | { state: 'unknown' }

/**
 * Returns the state of a link at `now`. Malformed tokens and drafts run the same query as unknown
 * tokens, so the response time does not tell them apart.
 */
export async function readSharedQuote(
  db: Kysely<Tables>,
  token: string,
  { timeZone, now }: { timeZone: string; now: Date },
): Promise<LinkState> {
  const row = await db
    // TRUNCATE locks quotes before quote_shares. The opposite order here would deadlock with it.
    .selectFrom('quotes as quote')
    .innerJoin('quote_shares as share', 'share.quote_id', 'quote.id')
    .where('share.token_hash', '=', hashLinkToken(isLinkToken(token) ? token : ''))
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
      // The document of a closed link does not leave the database.
      sql<string>`case
        when share.revoked_at is null and (share.expires_at is null or share.expires_at > ${now})
        then share.document
      end`.as('document'),
    )
    .executeTakeFirst()
  if (!row || row.status === 'draft') return { state: 'unknown' }
  if (row.revoked_at) return { state: 'revoked' }
  if (isLinkExpired(row.expires_at, now)) return { state: 'expired' }
  return {
    state: 'open',
    shareId: row.id,
    status: showStatus(row.status, row.valid_until, { timeZone, now }),
    link: { expiresAt: row.expires_at?.toISOString() ?? null },
    contentHash: row.content_hash,
    document: row.document,
  }
}

/** Returns the quote with its document parsed. */
export function parseSharedQuote({ status, link, contentHash, document }: OpenLink): SharedQuote {
  return { status, link, contentHash, document: JSON.parse(document) as QuoteDocument }
}

/**
 * Returns the quote as JSON text. The document is inserted byte for byte as it was frozen, because
 * `contentHash` is the hash of those bytes.
 */
export function serializeSharedQuote({ status, link, contentHash, document }: OpenLink): string {
  const members = [
    `"status":${JSON.stringify(status)}`,
    `"link":${JSON.stringify(link)}`,
    `"contentHash":${JSON.stringify(contentHash)}`,
    `"document":${document}`,
  ]
  return `{${members.join(',')}}`
}
