// Renders, compresses and caches the pages and the JSON of quotes.
import type { Brand } from '../../company/brand.ts'
import type { OpenLink, OpenQuote } from '../read-shared-quote.ts'
import { type EncodedContent, encodeContent, getEncodedBytes } from './encoded-content.ts'
import { LargePageThread } from './large-page-thread.ts'
import { type PageOrJson, renderPageOrJson } from './page-or-json.ts'
import { maxMainThreadDocumentBytes, pageAndJsonCacheBytes } from './rendering-limits.ts'
import { RenderingQueue } from './rendering-queue.ts'

/** `close` ends the thread for large pages. */
export class PageRenderer {
  readonly #brand: Brand
  readonly #thread: LargePageThread
  readonly #queue: RenderingQueue<EncodedContent>

  constructor(brand: Brand, { cacheBytes = pageAndJsonCacheBytes } = {}) {
    this.#brand = brand
    this.#thread = new LargePageThread(brand)
    this.#queue = new RenderingQueue({ cacheBytes, getBytes: getEncodedBytes })
  }

  /** Returns the rendering of an open link, or undefined if it is not cached. */
  getCached(link: OpenLink, wanted: PageOrJson): EncodedContent | undefined {
    return this.#queue.getCached(getCacheKey(link, wanted))
  }

  /**
   * Waits for a rendering that is under way. Returns undefined if there is none.
   * Throws RenderingUnavailableError if it failed before.
   */
  findPending(link: OpenLink, wanted: PageOrJson): Promise<EncodedContent | undefined> {
    return this.#queue.findPending(getCacheKey(link, wanted))
  }

  /**
   * Renders the page or JSON of a quote. That of a large document is rendered in another thread.
   * Throws RenderingUnavailableError if too many are queued, or if it failed before.
   */
  async render(quote: OpenQuote, wanted: PageOrJson): Promise<EncodedContent> {
    const key = getCacheKey(quote, wanted)
    if (isLarge(quote)) return this.#queue.render(key, () => this.#thread.render({ quote, wanted }))
    const content = await encodeContent(renderPageOrJson(quote, wanted, this.#brand))
    this.#queue.setCached(key, content)
    return content
  }

  close(): void {
    this.#thread.stop()
  }
}

/** Returns whether a document is rendered off the main thread. */
function isLarge({ document }: OpenQuote): boolean {
  return document.length > maxMainThreadDocumentBytes
}

/** The key contains all that a rendering depends on: content, status, expiry and language. */
function getCacheKey(link: OpenLink, wanted: PageOrJson): string {
  const kind = wanted.kind === 'json' ? 'json' : `page ${wanted.language}`
  return `${link.contentHash} ${link.status} ${link.link.expiresAt} ${kind}`
}
