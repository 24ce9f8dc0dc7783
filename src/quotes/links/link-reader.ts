// Reads links and their documents for requests, and decides whether a quote may be shown: only if
// its link is open, and if its document matches the hash that the link has always had.
import type { Kysely } from 'kysely'
import pLimit from 'p-limit'
import type { Replica } from '../../database/replica/replica.ts'
import type { Tables } from '../../database/table-types.ts'
import { getFailureReason, QuoteFailure } from '../failures.ts'
import { readDocumentFromReplicaOrPrimary } from './read-document.ts'
import { type LinkState, type OpenLink, readLink } from './read-link.ts'
import { VerifiedLinks } from './verified-links.ts'

type LinkReaderOptions = {
  db: Kysely<Tables>
  /** Documents are read from the replica if possible. Only the primary says if a link is open. */
  replica: Replica | null
  timeZone: string
  clock: () => Date
}

/**
 * The maximum number of documents that the main thread reads at the same time. The driver takes
 * 3 ms for a document of 2,000 lines, so many at once would delay other requests.
 */
const maxConcurrentReads = 2

/** Its methods throw QuoteFailure. */
export class LinkReader {
  readonly #options: LinkReaderOptions
  /** The links whose documents matched their hashes. */
  readonly #verifiedLinks = new VerifiedLinks()
  readonly #limitReads = pLimit(maxConcurrentReads)

  constructor(options: LinkReaderOptions) {
    this.#options = options
  }

  /** Returns the state of a link, always from the primary. */
  async read(token: string): Promise<LinkState> {
    const { db, timeZone, clock } = this.#options
    return readLink(db, token, { timeZone, now: clock() }).catch((cause: unknown) => {
      throw new QuoteFailure('database-unreadable', 'The link was not read.', { cause })
    })
  }

  /**
   * Throws if this process has verified this link with another hash. The hash of a link must never
   * change. A process that has just started remembers no link.
   */
  requireSameHash(link: OpenLink): void {
    if (this.#verifiedLinks.hadOtherHash(link))
      throw new QuoteFailure('altered', `Link ${link.linkId} has another hash than before.`)
  }

  /** Returns the document of a link after checking that it matches the hash of the link. */
  async readDocument(token: string, link: OpenLink): Promise<string> {
    const documentJson = await this.#limitReads(() =>
      readDocumentFromReplicaOrPrimary(this.#options, token, link),
    )
    this.#verifiedLinks.add(link)
    return documentJson
  }

  /** Call it after another process has checked the document of a link. */
  markVerified(link: OpenLink): void {
    this.#verifiedLinks.add(link)
  }

  /**
   * Reads and checks the document of a link, unless that was done before. Returns true if the
   * document was read now. This reads large documents in the main process too, but only for a link
   * that shares a rendering with another link, or whose row has changed.
   */
  async verifyDocument(token: string, link: OpenLink): Promise<boolean> {
    if (this.#verifiedLinks.has(link)) return false
    await this.readDocument(token, link)
    return true
  }

  /**
   * If `error` says that the document is missing, reads the link again to find out why, and returns
   * the failure that says it: expired, revoked or unknown. Otherwise returns `error`.
   */
  async explainMissingDocument(token: string, error: unknown): Promise<unknown> {
    if (getFailureReason(error) !== 'no-document') return error
    return this.read(token).then(
      ({ state }) => (state === 'open' ? error : new QuoteFailure(state)),
      (readError: unknown) => readError,
    )
  }
}

/** Throws QuoteFailure if the link is unknown, expired or revoked. */
export function requireOpen(link: LinkState): OpenLink {
  if (link.state !== 'open') throw new QuoteFailure(link.state)
  return link
}
