// Reads links and their documents for requests, and decides whether a quote may be shown.
// It is shown only if its link is open and its document matches the hash of the link. The process
// also remembers the hashes of the links that it has shown. If such a hash changes, the quote is
// not shown.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Tables } from '../../database/table-types.ts'
import { QuoteFailure } from '../failures.ts'
import {
  getLinkIdentity,
  hashLinkToken,
  type LinkState,
  type OpenLink,
  readLink,
} from './read-link.ts'

type LinkAccessOptions = {
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

/** Its methods throw QuoteFailure. */
export class LinkAccess {
  readonly #options: LinkAccessOptions
  /** The hashes that documents have matched, by link. The hash of a link must never change. */
  readonly #knownHashes = new LRUCache<string, string>({ max: maxKnownHashes })

  constructor(options: LinkAccessOptions) {
    this.#options = options
  }

  /** Returns the state of a link. */
  async readState(token: string): Promise<LinkState> {
    const { db, timeZone, clock } = this.#options
    return readLink(db, token, { timeZone, now: clock() })
  }

  /**
   * Returns the document of a link after verifying it. Throws QuoteFailure if the query fails
   * (`database_unreadable`), if somebody has changed the document or its hash (`altered`), or if
   * the link was closed since it was read.
   */
  async readVerifiedDocument(token: string, link: OpenLink): Promise<string> {
    this.#rejectChangedHash(link)
    const documentJson = await this.#readDocument(token, link)
    this.#knownHashes.set(getLinkIdentity(link), link.contentHash)
    return documentJson
  }

  async #readDocument(token: string, link: OpenLink): Promise<string> {
    const documentJson = await queryDocument(this.#options.db, token).catch((cause: unknown) => {
      throw new QuoteFailure(
        'database_unreadable',
        `The document of link ${link.linkId} could not be read.`,
        { cause },
      )
    })
    if (documentJson === null) {
      // If the link was closed after it had been read, the visitor learns that.
      requireOpen(await this.readState(token))
      throw new QuoteFailure('no_document', `Link ${link.linkId} has no document.`)
    }
    if (!matchesHash(documentJson, link))
      throw this.#createAlteredFailure(
        `The document of link ${link.linkId} does not match its hash.`,
      )
    return documentJson
  }

  #rejectChangedHash(link: OpenLink): void {
    const knownHash = this.#knownHashes.get(getLinkIdentity(link))
    if (knownHash !== undefined && knownHash !== link.contentHash)
      throw this.#createAlteredFailure(
        `The hash of link ${link.linkId} has changed since this process showed it.`,
      )
  }

  #createAlteredFailure(message: string): QuoteFailure {
    this.#options.observer.countAlteredDocument()
    return new QuoteFailure('altered', message)
  }
}

export function requireOpen(link: LinkState): OpenLink {
  if (link.state !== 'open') throw new QuoteFailure(link.state)
  return link
}

function matchesHash(documentJson: string, { contentHash }: OpenLink): boolean {
  return createHash('sha256').update(documentJson).digest('hex') === contentHash
}

/** Returns the document of a link. Returns null if the link is not open by the database's clock. */
export async function queryDocument(db: Kysely<Tables>, token: string): Promise<string | null> {
  const { rows } = await sql<{ document: string | null }>`
    select read_quote_share_document(${hashLinkToken(token)}) as document
  `.execute(db)
  return rows[0]?.document ?? null
}
