// Remembers the links whose documents matched their hashes. If somebody changes the row of a link
// afterwards, its cached page, JSON or PDF is not sent before the document is verified again.
import { LRUCache } from 'lru-cache'
import type { OpenLink } from './read-link.ts'

/** If a link is no longer remembered, verifying it again takes one more query. */
const maxRememberedLinks = 20_000

/**
 * The key contains the hash of the token, because a restored database may give the id of a lost
 * link to a new one.
 */
const keyOf = ({ linkId, tokenHash }: OpenLink) => `${linkId} ${tokenHash}`

/** The links that this process has verified, with their row versions and hashes. */
export class VerifiedLinks {
  readonly #links = new LRUCache<string, Pick<OpenLink, 'rowVersion' | 'contentHash'>>({
    max: maxRememberedLinks,
  })

  /**
   * Remembers a link whose document matches its hash. Pass the row that was read before the
   * document, so that a change in between is noticed.
   */
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
