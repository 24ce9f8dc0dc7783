// Reads the documents of open links from the replica or the primary, and remembers which links this
// process has verified.
import type { Kysely } from 'kysely'
import pLimit from 'p-limit'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import { type OpenLink, readDocument, readReplicatedDocument } from './read-shared-quote.ts'
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

  /** Returns the document of an open link. Throws the errors of document-errors.ts. */
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
