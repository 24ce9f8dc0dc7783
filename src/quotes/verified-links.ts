// Remembers which rows of links had a document that matches its hash, so that a rendering in the
// cache is not sent after somebody changed the row.
import { LRUCache } from 'lru-cache'
import type { OpenLink } from './read-shared-quote.ts'

/** Further links are verified again, which takes one more query. */
const maxRememberedLinks = 20_000

/**
 * After a database was restored, a new link may have the id of one that was lost. Its token tells
 * them apart.
 */
const keyOf = ({ shareId, tokenHash }: OpenLink) => `${shareId} ${tokenHash}`

/** The links that this process has verified, with the version of their row and their hash. */
export class VerifiedLinks {
  readonly #links = new LRUCache<string, Pick<OpenLink, 'rowVersion' | 'contentHash'>>({
    max: maxRememberedLinks,
  })

  /** Remembers a link that was read before its document was found to match its hash. */
  add(link: OpenLink): void {
    const { rowVersion, contentHash } = link
    this.#links.set(keyOf(link), { rowVersion, contentHash })
  }

  /** Returns whether the link was verified and its row has not changed since. */
  has(link: OpenLink): boolean {
    return this.#links.get(keyOf(link))?.rowVersion === link.rowVersion
  }

  /** Returns whether the link had another hash before. The hash of a link never changes. */
  hadOtherHash(link: OpenLink): boolean {
    const known = this.#links.get(keyOf(link))
    return known !== undefined && known.contentHash !== link.contentHash
  }
}
