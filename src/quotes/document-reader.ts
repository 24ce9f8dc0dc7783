// Reads the documents of open links from the replica or the primary, and remembers which links this
// process has verified.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import pLimit from 'p-limit'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import { QuoteFailure } from './failures.ts'
import { hashLinkToken } from './links/link-token.ts'
import type { OpenLink } from './links/read-link.ts'
import { VerifiedLinks } from './verified-links.ts'

/**
 * The maximum number of documents that the main thread reads at the same time, for PDFs and small
 * pages. The driver takes 3 ms for a document of 2,000 lines, so many at once would delay other
 * requests.
 */
const maxConcurrentReads = 2

export class DocumentReader {
  /** The links whose documents matched their hashes. */
  readonly verifiedLinks = new VerifiedLinks()
  readonly #db: Kysely<Tables>
  readonly #replica: Replica | null
  readonly #limitReads = pLimit(maxConcurrentReads)

  constructor(db: Kysely<Tables>, replica: Replica | null) {
    this.#db = db
    this.#replica = replica
  }

  /** Returns the document of an open link. Throws as readDocument does. */
  async read(token: string, link: OpenLink): Promise<string> {
    const document = await this.#limitReads(() => this.#readFromReplicaOrPrimary(token, link))
    this.verifiedLinks.add(link)
    return document
  }

  async #readFromReplicaOrPrimary(token: string, link: OpenLink): Promise<string> {
    const replica = this.#replica
    const replicated = await replica?.read('document', () =>
      readReplicatedDocument(replica.db, token, link),
    )
    return replicated ?? readDocument(this.#db, token, link)
  }
}

/**
 * Returns the document of a link that is open by the clock of the database. Throws
 * QuoteFailure if the query fails (`not-read`), the link was closed since it was read
 * (`no-document`), or the document does not match the hash of the link (`altered`).
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
    throw new QuoteFailure('not-read', 'The document was not read.', { cause })
  })
  const document = rows[0]?.document ?? null
  if (document === null) throw new QuoteFailure('no-document', `Link ${shareId} has no document.`)
  if (hashDocument(document) !== contentHash)
    throw new QuoteFailure('altered', `The document of link ${shareId} does not match its hash.`)
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
function hashDocument(document: string): string {
  return createHash('sha256').update(document).digest('hex')
}
