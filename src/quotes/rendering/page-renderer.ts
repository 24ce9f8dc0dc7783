// Renders, compresses and caches the pages and the JSON of quotes.
import type { Brand } from '../../company/brand.ts'
import type { ReplicaReadOutcome } from '../../database/replica/replica.ts'
import { timeouts } from '../../timeouts.ts'
import type { OpenLink, OpenQuote } from '../read-shared-quote.ts'
import { type EncodedContent, encodeSmallContent, getEncodedBytes } from './encoded-content.ts'
import { LargePageProcessClient } from './large-page-process-client.ts'
import type { LargePageRequest } from './large-page-process-main.ts'
import { type PageOrJson, renderPageOrJson } from './render-page-or-json.ts'
import { maxMainThreadDocumentBytes, pageAndJsonCacheBytes } from './rendering-limits.ts'
import { type FailureListener, RenderingQueue } from './rendering-queue.ts'

/** `onVerified` is called after the child process has verified the document. */
type LargePageEvents = {
  onVerified(): void
  onFailure: FailureListener
  onReplicaRead?(outcome: ReplicaReadOutcome): void
}

type PageRendererOptions = {
  databaseUrl: string
  replicaUrl?: string | null
  cacheBytes?: number
}

/** `close` ends the child process for large pages. */
export class PageRenderer {
  readonly #brand: Brand
  readonly #process: LargePageProcessClient
  readonly #queue: RenderingQueue<EncodedContent>

  /** The child process for large documents connects to the database with these URLs. */
  constructor(
    brand: Brand,
    { databaseUrl, replicaUrl = null, cacheBytes = pageAndJsonCacheBytes }: PageRendererOptions,
  ) {
    this.#brand = brand
    this.#process = new LargePageProcessClient({ brand, databaseUrl, replicaUrl })
    this.#queue = new RenderingQueue({
      cacheBytes,
      getBytes: getEncodedBytes,
      maxPauseMs: timeouts.quotes.largePagePause.ms,
    })
  }

  /** Returns the rendering of an open link, or undefined if it is not cached. */
  getCached(link: OpenLink, wanted: PageOrJson): EncodedContent | undefined {
    return this.#queue.getCached(getCacheKey(link, wanted))
  }

  /**
   * Waits for a rendering that is queued or running. Returns undefined if there is none.
   * Throws RenderingUnavailableError if it failed before.
   */
  findPending(link: OpenLink, wanted: PageOrJson): Promise<EncodedContent | undefined> {
    return this.#queue.findPending(getCacheKey(link, wanted))
  }

  /** Renders and caches the page or JSON of a small quote in this process. */
  async render(quote: OpenQuote, wanted: PageOrJson): Promise<EncodedContent> {
    const content = await encodeSmallContent(renderPageOrJson(quote, wanted, this.#brand))
    this.#queue.setCached(getCacheKey(quote, wanted), content)
    return content
  }

  /**
   * Reads the document of a large quote and renders its page or JSON in the child process.
   * Throws DocumentNotReadError if the document cannot be read, and RenderingUnavailableError if
   * the queue is full or the rendering failed before.
   */
  renderInChildProcess(
    request: LargePageRequest,
    { onVerified, onFailure, onReplicaRead }: LargePageEvents,
  ): Promise<EncodedContent> {
    const { link, wanted } = request
    const render = async () => {
      const content = await this.#process.render(request, onReplicaRead)
      onVerified()
      return content
    }
    return this.#queue.render(getCacheKey(link, wanted), render, onFailure)
  }

  close(): void {
    this.#process.stop()
  }
}

/** Returns whether the child process reads and renders the document. */
export function isLarge({ documentBytes }: OpenLink): boolean {
  return documentBytes > maxMainThreadDocumentBytes
}

/**
 * The key contains everything that a rendering depends on, except the brand and `offersReplies`:
 * they are the same for all requests of a process.
 */
function getCacheKey(link: OpenLink, wanted: PageOrJson): string {
  const kind = wanted.kind === 'json' ? 'json' : `page ${wanted.language} ${wanted.offersPdf}`
  return `${link.contentHash} ${link.status} ${link.link.expiresAt} ${kind}`
}
