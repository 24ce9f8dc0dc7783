// Reads the document of an open link from the replica or the primary, and checks its hash.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Replica } from '../../database/replica/replica.ts'
import type { Tables } from '../../database/table-types.ts'
import { QuoteFailure } from '../failures.ts'
import { hashLinkToken } from './link-token.ts'
import type { OpenLink } from './read-link.ts'

/** Returns the document of an open link. Throws as readDocument does. */
export async function readDocumentFromReplicaOrPrimary(
  { db, replica }: { db: Kysely<Tables>; replica: Replica | null },
  token: string,
  link: OpenLink,
): Promise<string> {
  const replicated = await replica?.read('document', () =>
    readReplicatedDocument(replica.db, token, link),
  )
  return replicated ?? readDocument(db, token, link)
}

/**
 * Returns the document of a link that is open by the clock of the database. Throws
 * QuoteFailure if the query fails (`database-unreadable`), the link was closed since it was read
 * (`no-document`), or the document does not match the hash of the link (`altered`).
 */
export async function readDocument(
  db: Kysely<Tables>,
  token: string,
  { contentHash, linkId }: OpenLink,
): Promise<string> {
  const query = sql<{ document: string | null }>`
    select read_quote_share_document(${hashLinkToken(token)}) as document
  `
  const { rows } = await query.execute(db).catch((cause: unknown) => {
    throw new QuoteFailure('database-unreadable', 'The document was not read.', { cause })
  })
  const documentJson = rows[0]?.document ?? null
  if (documentJson === null)
    throw new QuoteFailure('no-document', `Link ${linkId} has no document.`)
  if (hashDocument(documentJson) !== contentHash)
    throw new QuoteFailure('altered', `The document of link ${linkId} does not match its hash.`)
  return documentJson
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
function hashDocument(documentJson: string): string {
  return createHash('sha256').update(documentJson).digest('hex')
}
