// Finds a link by the hash of its token, decides whether it is open, and reads and verifies its
// document.
import { createHash } from 'node:crypto'
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { QuoteStatus, Tables } from '../database/table-types.ts'
import { AlteredDocumentError, DocumentNotReadError } from './document-errors.ts'
import { getEffectiveStatus } from './effective-status.ts'
import { hashLinkToken, isLinkToken } from './links/link-token.ts'
import type { QuoteDocument, SharedQuote } from './schema.ts'

/**
 * A link whose quote may be shown. `shareId`, `tokenHash`, `rowVersion` and the size of its
 * document are internal and must not be sent.
 */
export type OpenLink = {
  state: 'open'
  /** The effective status of the quote. */
  status: SharedQuote['status']
  contentHash: string
  /** When the link expires (ISO 8601), or null if it does not. */
  expiresAt: string | null
  shareId: string
  tokenHash: string
  /** Changes whenever the link's row changes. */
  rowVersion: string
  documentBytes: number
}

/** An open link with its document: the frozen canonical JSON. */
export type OpenQuote = OpenLink & { document: string }

/**
 * What a visitor may learn about a link. Unknown and malformed tokens, drafts and deleted quotes
 * are all `unknown`, so an attacker cannot tell them apart.
 */
export type LinkState = OpenLink | { state: 'expired' | 'revoked' } | { state: 'unknown' }

type LinkRow = {
  share_id: string
  status: Exclude<QuoteStatus, 'draft'>
  valid_until: string | null
  content_hash: string
  expires_at: Date | null
  revoked_at: Date | null
  /** Null if the document was emptied. */
  document_bytes: number | null
  row_version: string
  is_expired: boolean
}

/** Compiled once, because every request for a link runs this query. */
let compiledLinkQuery: CompiledQuery<LinkRow> | undefined

function compileLinkQuery(db: Kysely<Tables>, tokenHash: Buffer): CompiledQuery<LinkRow> {
  // The clock of the database decides whether a link has expired. The clock of the API may differ.
  compiledLinkQuery ??= sql<LinkRow>`
    select *, coalesce(expires_at <= now(), false) as is_expired
    from read_quote_share(${tokenHash})
  `.compile(db)
  return { ...compiledLinkQuery, parameters: [tokenHash] }
}

/**
 * Returns the state of a link. The database decides whether it is open. A quote that is past its
 * validity at `now` counts as expired. Malformed tokens and drafts run the same query as unknown
 * tokens, so the response time does not tell them apart.
 */
export async function readLink(
  db: Kysely<Tables>,
  token: string,
  { timeZone, now }: { timeZone: string; now: Date },
): Promise<LinkState> {
  const tokenHash = hashLinkToken(isLinkToken(token) ? token : '')
  const { rows } = await db.executeQuery<LinkRow>(compileLinkQuery(db, tokenHash))
  const [row] = rows
  if (!row) return { state: 'unknown' }
  if (row.revoked_at) return { state: 'revoked' }
  if (row.is_expired) return { state: 'expired' }
  return {
    state: 'open',
    shareId: row.share_id,
    tokenHash: tokenHash.toString('base64url'),
    rowVersion: row.row_version,
    status: getEffectiveStatus(row.status, row.valid_until, { timeZone, now }),
    contentHash: row.content_hash,
    expiresAt: row.expires_at?.toISOString() ?? null,
    documentBytes: row.document_bytes ?? 0,
  }
}

/**
 * Returns the document of a link that is open by the clock of the database. Throws
 * DocumentNotReadError if the query fails or the link was closed since it was read, and
 * AlteredDocumentError if the document does not match the hash of the link.
 */
export async function readDocument(
  db: Kysely<Tables>,
  token: string,
  { contentHash, shareId }: OpenLink,
): Promise<string> {
  const query = sql<{ document: string | null }>`
    select read_quote_share_document(${hashLinkToken(token)}) as document
  `
  const { rows } = await query.execute(db).catch((cause: unknown) => {
    throw new DocumentNotReadError('The document was not read.', { cause })
  })
  const document = rows[0]?.document ?? null
  if (document === null) throw new DocumentNotReadError(`Link ${shareId} has no document.`)
  if (hashDocument(document) !== contentHash)
    throw new AlteredDocumentError(`The document of link ${shareId} does not match its hash.`)
  return document
}

/**
 * Returns the document of a link from a replica. Returns null if the row on the replica differs
 * from the row that was read from the primary, or if the document does not match its hash. An old
 * or altered document is therefore never returned, however far the replica is behind.
 */
export async function readReplicatedDocument(
  replicaDb: Kysely<Tables>,
  token: string,
  { contentHash, rowVersion }: OpenLink,
): Promise<string | null> {
  const tokenHash = hashLinkToken(token)
  const { rows } = await sql<{ document: string | null; row_version: string }>`
    select read_quote_share_document(${tokenHash}) as document, row_version
    from read_quote_share(${tokenHash})
  `.execute(replicaDb)
  const [row] = rows
  if (!row || row.document === null || row.row_version !== rowVersion) return null
  return hashDocument(row.document) === contentHash ? row.document : null
}

/** Returns the SHA-256 of a document, in hexadecimal digits. */
export function hashDocument(document: string): string {
  return createHash('sha256').update(document).digest('hex')
}

/** Returns the quote with its document parsed. */
export function parseSharedQuote(quote: OpenQuote): SharedQuote {
  const { status, expiresAt, contentHash, document } = quote
  return {
    status,
    link: { expiresAt },
    contentHash,
    document: JSON.parse(document) as QuoteDocument,
  }
}

/**
 * Returns the quote as JSON text. The document is inserted byte for byte as it was frozen, because
 * `contentHash` is the hash of those bytes.
 */
export function serializeSharedQuote(quote: OpenQuote): string {
  const { status, expiresAt, contentHash, document } = quote
  const members = [
    `"status":${JSON.stringify(status)}`,
    `"link":${JSON.stringify({ expiresAt })}`,
    `"contentHash":${JSON.stringify(contentHash)}`,
    `"document":${document}`,
  ]
  return `{${members.join(',')}}`
}
