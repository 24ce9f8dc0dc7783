// Renders, compresses and caches the pages and the JSON of quotes: small ones in this process,
// large ones in a child process (large-page-process-main.ts).

import type { OpenLink } from '../links/read-link.ts'
import {
  getLinkCacheKey,
  type RenderedContent,
  RenderingCache,
  type RenderingContext,
} from '../rendering/rendering-cache.ts'
import {
  largePageHeapMegabytes,
  largePageProcessLimits,
  maxMainThreadDocumentBytes,
  pageAndJsonCacheBytes,
} from '../rendering/rendering-limits.ts'
import { RenderingProcess } from '../rendering/rendering-process.ts'
import type { LargePageTask } from './large-page-process-main.ts'
import {
  type EncodedContent,
  encodeSmallContent,
  getEncodedSize,
  type PageOptions,
  type PageOrJsonVariant,
  renderPageOrJson,
} from './quote-page.ts'

// A pause is five times as long as the page took. Other requests have most of the time.
const maxLargePagePauseMs = 250

/** `close` ends the child process for large pages. */
export class PageRenderer {
  readonly #options: PageOptions
  readonly #process: RenderingProcess<LargePageTask, EncodedContent>
  readonly #cache = new RenderingCache<EncodedContent>({
    cacheBytes: pageAndJsonCacheBytes,
    getSize: getEncodedSize,
  })

  constructor(options: PageOptions) {
    this.#options = options
    this.#process = new RenderingProcess({
      program: new URL('large-page-process-main.ts', import.meta.url),
      contentName: 'large page or JSON',
      limits: largePageProcessLimits,
      queue: { maxPauseMs: maxLargePagePauseMs },
      // Without --single-threaded, V8 would collect garbage and compile in further threads. They
      // would use a second core, and 60 large pages would take 3.2 s instead of 2.5 s.
      nodeOptions: [`--max-old-space-size=${largePageHeapMegabytes}`, '--single-threaded'],
    })
  }

  /**
   * Returns the page or JSON of an open link. Throws as RenderingCache.getOrRender does. Renders a
   * small quote immediately in this process, and large ones one at a time in the child process.
   */
  getOrRender(
    link: OpenLink,
    variant: PageOrJsonVariant,
    context: RenderingContext,
  ): Promise<RenderedContent<EncodedContent>> {
    const options = this.#options
    const readQuote = async () => ({
      quoteStatus: link.quoteStatus,
      expiresAt: link.expiresAt,
      contentHash: link.contentHash,
      documentJson: await context.readVerifiedDocument(),
    })
    const renderHere = async () =>
      encodeSmallContent(renderPageOrJson(await readQuote(), variant, options))
    const renderInChildProcess = async () =>
      toBuffers(
        await this.#process.perform(async () => ({ quote: await readQuote(), variant, options })),
      )
    const render = isLarge(link) ? renderInChildProcess : renderHere
    return this.#cache.getOrRender(getCacheKey(link, variant), render, context.logFailure)
  }

  close(): void {
    this.#process.stop()
  }
}

function isLarge({ documentBytes }: OpenLink): boolean {
  return documentBytes > maxMainThreadDocumentBytes
}

/** Buffers may arrive from a process as plain byte arrays. */
function toBuffers({ identity, gzip, br }: EncodedContent): EncodedContent {
  const view = ({ buffer, byteOffset, length }: Uint8Array<ArrayBufferLike>) =>
    Buffer.from(buffer, byteOffset, length)
  return { identity: identity && view(identity), gzip: view(gzip), br: view(br) }
}

/** The key contains everything that a page depends on, except the options of the service. */
function getCacheKey(link: OpenLink, variant: PageOrJsonVariant): string {
  const suffix =
    variant.format === 'json' ? 'json' : `page ${variant.language} ${variant.offersPdf}`
  return `${getLinkCacheKey(link)} ${suffix}`
}
