// Finds a link by the hash of its token, decides whether it is open and its quote past its validity,
// and reads and verifies its document.
import { createHash, randomBytes } from 'node:crypto'
import { CompiledQuery, type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { toLocalDate } from '../../company/calendar.ts'
import type { VisibleStatus } from '../../database/quote-statuses.ts'
import type { Tables } from '../../database/table-types.ts'
import { QuoteFailure } from '../failures.ts'
import type { LinkedQuote } from '../schema.ts'

const tokenBytes = 32
const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Returns a new token: 32 random bytes as 43 characters of base64url. */
export function generateLinkToken(): string {
  return randomBytes(tokenBytes).toString('base64url')
}

function isLinkToken(text: string): boolean {
  return tokenPattern.test(text)
}

/**
 * Returns the SHA-256 hash of a token's text. The decoded bytes would be ambiguous: the last
 * character has unused bits, so several texts decode to the same 32 bytes.
 */
export function hashLinkToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * A link whose quote may be shown. `linkId`, `tokenHash`, `rowVersion` and the size of its
 * document are internal and must not be sent.
 */
export type OpenLink = {
  state: 'open'
  /** The effective status of the quote, not of the link. */
  quoteStatus: LinkedQuote['status']
  contentHash: string
  /** When the link expires (ISO 8601), or null if it does not. */
  expiresAt: string | null
  linkId: string
  tokenHash: string
  /** Changes whenever the link's row changes. */
  rowVersion: string
  documentBytes: number
}

/**
 * What a visitor may learn about a link. Unknown and malformed tokens, drafts and deleted quotes
 * are all `unknown_link`, so an attacker cannot tell them apart.
 */
export type LinkState =
  | OpenLink
  | { state: 'link_expired' | 'link_revoked'; linkId: string }
  | { state: 'unknown_link' }

/**
 * Returns what identifies the link. It contains the hash of the token, because a restored database
 * may give the id of a lost link to a new one.
 */
export const getLinkIdentity = ({ linkId, tokenHash }: OpenLink) => `${linkId} ${tokenHash}`

type LinkRow = {
  share_id: string
  status: VisibleStatus
  valid_until: string | null
  content_hash: string
  expires_at: Date | null
  revoked_at: Date | null
  /** Null if the document was erased. */
  document_bytes: number | null
  row_version: string
  is_expired: boolean
}

// The query is text, because every request for a link runs it and Kysely would build it each time.
// The clock of the database decides whether a link has expired. The clock of the API may differ.
const linkQuery = `
  select share_id, status, valid_until, content_hash, expires_at, revoked_at, document_bytes,
    row_version, coalesce(expires_at <= now(), false) as is_expired
  from read_quote_share($1)
`

/**
 * Returns the state of a link. The database decides whether it is open. A sent quote whose last
 * valid day is over at `now` in the seller's time zone has the status `expired`. Malformed tokens
 * and drafts run the same query as unknown tokens, so the response time does not tell them apart.
 * Throws QuoteFailure if the query fails.
 */
export async function readLink(
  db: Kysely<Tables>,
  token: string,
  { timeZone, now }: { timeZone: string; now: Date },
): Promise<LinkState> {
  const tokenHash = hashLinkToken(isLinkToken(token) ? token : '')
  const row = await queryLink(db, tokenHash)
  if (!row) return { state: 'unknown_link' }
  const { share_id: linkId, status, valid_until: lastValidDay } = row
  if (row.revoked_at) return { state: 'link_revoked', linkId }
  if (row.is_expired) return { state: 'link_expired', linkId }
  const isPastValidity =
    status === 'sent' && lastValidDay !== null && lastValidDay < toLocalDate(timeZone, now)
  return {
    state: 'open',
    linkId,
    tokenHash: tokenHash.toString('base64url'),
    rowVersion: row.row_version,
    quoteStatus: isPastValidity ? 'expired' : status,
    contentHash: row.content_hash,
    expiresAt: row.expires_at?.toISOString() ?? null,
    documentBytes: row.document_bytes ?? 0,
  }
}

async function queryLink(db: Kysely<Tables>, tokenHash: Buffer): Promise<LinkRow | undefined> {
  try {
    const { rows } = await db.executeQuery<LinkRow>(CompiledQuery.raw(linkQuery, [tokenHash]))
    return rows[0]
  } catch (cause) {
    throw new QuoteFailure('database_unreadable', 'The link could not be read from the database.', {
      cause,
    })
  }
}

type LinkReaderOptions = {
  db: Kysely<Tables>
  timeZone: string
  clock: () => Date
  observer: { countAlteredDocument(): void }
}

/**
 * How many hashes a process remembers. It forgets the least recently used ones first. It does not
 * notice if a forgotten hash changes.
 */
const maxKnownHashes = 20_000

/**
 * Returns functions that read links and their documents. A quote is shown only if its link is open
 * and its document matches the hash of the link. The process also remembers the hashes of the links
 * that it has shown: the hash of a link must never change.
 */
export function createLinkReader({ db, timeZone, clock, observer }: LinkReaderOptions) {
  const knownHashes = new LRUCache<string, string>({ max: maxKnownHashes })
  const createAlteredFailure = (message: string) => {
    observer.countAlteredDocument()
    return new QuoteFailure('altered', message)
  }
  const readState = (token: string) => readLink(db, token, { timeZone, now: clock() })
  /**
   * Throws QuoteFailure if the query fails (`database_unreadable`), if somebody has changed the
   * document or its hash (`altered`), or if the link was closed since it was read.
   */
  const readVerifiedDocument = async (token: string, link: OpenLink): Promise<string> => {
    const { linkId, contentHash } = link
    const knownHash = knownHashes.get(getLinkIdentity(link))
    if (knownHash !== undefined && knownHash !== contentHash)
      throw createAlteredFailure(`The hash of link ${linkId} has changed since it was shown.`)
    const documentJson = await queryDocument(db, token).catch((cause: unknown) => {
      const message = `The document of link ${linkId} could not be read.`
      throw new QuoteFailure('database_unreadable', message, { cause })
    })
    if (documentJson === null) {
      // If the link was closed after it had been read, the visitor learns that.
      requireOpen(await readState(token))
      throw new QuoteFailure('no_document', `Link ${linkId} has no document.`)
    }
    if (createHash('sha256').update(documentJson).digest('hex') !== contentHash)
      throw createAlteredFailure(`The document of link ${linkId} does not match its hash.`)
    knownHashes.set(getLinkIdentity(link), contentHash)
    return documentJson
  }
  return { readState, readVerifiedDocument }
}

export function requireOpen(link: LinkState): OpenLink {
  if (link.state !== 'open') throw new QuoteFailure(link.state)
  return link
}

/** Returns the document of a link. Returns null if the link is not open by the database's clock. */
export async function queryDocument(db: Kysely<Tables>, token: string): Promise<string | null> {
  const { rows } = await sql<{ document: string | null }>`
    select read_quote_share_document(${hashLinkToken(token)}) as document
  `.execute(db)
  return rows[0]?.document ?? null
}
