// Renders quotes as page, JSON or PDF, and caches them. Small pages and JSON are rendered at once,
// in this process; PDFs and large pages one after the other, in a process of their own.
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import {
  failurePauseMs,
  failureRules,
  getRenderingFailureReason,
  HandledFailure,
  needsErrorLog,
  QuoteFailure,
} from '../failures.ts'
import type { Locale } from '../formats.ts'
import { getLinkIdentity, type OpenLink } from '../links/read-link.ts'
import { compress, type PageOptions, renderPageOrJson, type Variant } from '../page/quote-page.ts'
import type { Format } from '../requested-representation.ts'
import type { Rendering } from './rendering-main.ts'
import { RenderingProcess, type renderingLimits } from './rendering-process.ts'

// Later a visitor wants to see that something happens.
export const renderingWait = { ms: 10_000 }

/**
 * The main thread takes about 4 ms for a document of this size: canonical JSON of about 90 lines.
 */
export const maxMainThreadDocumentBytes = 32_000
const cacheBytes = 48e6
const maxQueued = 30
const maxRememberedFailures = 1_000
// A pause is five times as long as the page before it took. Other requests have most of the time.
const pauseFactor = 5
const maxPauseMs = 250
/** A rendering that always fails may take a twentieth of the time of the process. */
const failurePauseFactor = 20

export type RenderingContext = {
  /** Called only if the rendering is not cached. */
  readVerifiedDocument(): Promise<string>
  /** Logs why a rendering failed: once, however many requests wait for it. */
  logFailure(error: unknown): void
}

export class QuoteRenderer {
  readonly #options: PageOptions
  readonly #process: RenderingProcess
  readonly #cache: LRUCache<string, Rendering>
  /** The renderings that may not be tried again yet. */
  readonly #failed = new LRUCache<string, HandledFailure>({ max: maxRememberedFailures })
  readonly #pending = new Map<string, Promise<Rendering>>()
  // Pages come first: they take a tenth of the time, and a customer sees the page before the PDF.
  readonly #waiting = { page: [] as (() => Promise<void>)[], pdf: [] as (() => Promise<void>)[] }
  readonly #closing = new AbortController()
  #isWorking = false

  /** Tests replace some of the limits. */
  constructor(
    options: PageOptions,
    limits: Partial<typeof renderingLimits & { cacheBytes: number }> = {},
  ) {
    this.#options = options
    this.#process = new RenderingProcess(limits)
    this.#cache = new LRUCache({
      maxSize: limits.cacheBytes ?? cacheBytes,
      sizeCalculation: getSize,
    })
  }

  /**
   * Returns the quote of an open link from the cache, or renders it. Concurrent calls for the same
   * share one rendering. A language of null is that of the quote. Throws QuoteFailure; its reason
   * is `pending` if this takes too long. The rendering then goes on.
   */
  async getOrRender(
    link: OpenLink,
    format: Format,
    language: Locale | null,
    context: RenderingContext,
  ): Promise<{ rendering: Rendering; isCached: boolean }> {
    const offersPdf = format === 'html' && !this.#failed.has(getCacheKey(link, 'pdf', language))
    const variant = { format, language, offersPdf }
    const key = getCacheKey(link, format, language, offersPdf)
    const cached = this.#cache.get(key)
    if (cached) return { rendering: cached, isCached: true }
    const pending = this.#pending.get(key) ?? this.#start(key, link, variant, context)
    const rendering = await pTimeout(pending, {
      milliseconds: renderingWait.ms,
      message: new QuoteFailure('pending', 'The rendering is not ready yet.'),
    })
    return { rendering, isCached: false }
  }

  /** Ends the process. All renderings that have not ended fail with the reason `stopping`. */
  close(): void {
    this.#closing.abort()
    this.#process.stop()
  }

  #start(key: string, link: OpenLink, variant: Variant, context: RenderingContext) {
    const failed = this.#failed.get(key)
    if (failed) throw failed
    const startedAt = performance.now()
    const rendering = this.#render(link, variant, context)
      .then(
        (content) => {
          this.#cache.set(key, content)
          return content
        },
        (error: unknown) => {
          if (needsErrorLog(error)) context.logFailure(error)
          const reason = getRenderingFailureReason(error)
          const message = error instanceof Error ? error.message : String(error)
          const failure = new HandledFailure(reason, message, { cause: error })
          const ttl = Math.max(failurePauseMs, failurePauseFactor * (performance.now() - startedAt))
          if (failureRules[reason].isRemembered) this.#failed.set(key, failure, { ttl })
          throw failure
        },
      )
      .finally(() => this.#pending.delete(key))
    this.#pending.set(key, rendering)
    return rendering
  }

  async #render(
    link: OpenLink,
    variant: Variant,
    { readVerifiedDocument }: RenderingContext,
  ): Promise<Rendering> {
    const { quoteStatus, expiresAt, contentHash } = link
    const readQuote = async () => {
      const documentJson = await readVerifiedDocument()
      return { quoteStatus, expiresAt, contentHash, documentJson }
    }
    const options = this.#options
    if (variant.format !== 'pdf' && link.documentBytes <= maxMainThreadDocumentBytes)
      return compress(renderPageOrJson(await readQuote(), variant, options))
    // The document is read when it is its turn, so few are in memory at the same time.
    return this.#enqueue(variant.format === 'pdf' ? 'pdf' : 'page', async () =>
      toBuffers(await this.#process.perform({ quote: await readQuote(), variant, options })),
    )
  }

  async #enqueue(kind: 'page' | 'pdf', render: () => Promise<Rendering>): Promise<Rendering> {
    const { page, pdf } = this.#waiting
    if (page.length + pdf.length >= maxQueued)
      throw new QuoteFailure('queue_full', 'Too many renderings are queued.')
    const { promise, resolve, reject } = Promise.withResolvers<Rendering>()
    this.#waiting[kind].push(async () => {
      const startedAt = performance.now()
      await render().then(resolve, reject)
      const pauseMs = Math.min(pauseFactor * (performance.now() - startedAt), maxPauseMs)
      if (kind === 'page')
        await sleep(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
    })
    void this.#work()
    return promise
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    const { page, pdf } = this.#waiting
    const takeNext = () => page.shift() ?? pdf.shift()
    for (let next = takeNext(); next; next = takeNext()) await next()
    this.#isWorking = false
  }
}

/**
 * The key contains everything that a rendering depends on, except the options of the service. If
 * somebody changes the row of the link, the document is read and verified again.
 */
function getCacheKey(
  link: OpenLink,
  format: Format,
  language: Locale | null,
  offersPdf = false,
): string {
  const { rowVersion, contentHash, quoteStatus } = link
  const variant = format === 'json' ? format : `${format} ${language} ${offersPdf}`
  return `${getLinkIdentity(link)} ${rowVersion} ${contentHash} ${quoteStatus} ${variant}`
}

function listBuffers(rendering: Rendering) {
  return Object.entries<Buffer | string>(rendering).filter(
    (entry): entry is [string, Buffer] => entry[1] instanceof Uint8Array,
  )
}

/** Buffers may arrive from a process as plain byte arrays. */
function toBuffers(rendering: Rendering): Rendering {
  const buffers = listBuffers(rendering).map(([name, { buffer, byteOffset, length }]) => [
    name,
    Buffer.from(buffer, byteOffset, length),
  ])
  return { ...rendering, ...Object.fromEntries(buffers) }
}

function getSize(rendering: Rendering): number {
  return listBuffers(rendering).reduce((sum, [, { length }]) => sum + length, 1)
}
