// Starts, stops and replaces the thread that renders large pages (large-page-worker.ts).
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import pTimeout from 'p-timeout'
import type { Brand } from '../../company/brand.ts'
import { timeouts } from '../../timeouts.ts'
import { AlteredDocumentError } from '../read-shared-quote.ts'
import type { EncodedContent } from './encoded-content.ts'
import type { LargePageFailure, LargePageRequest, LargePageResult } from './large-page-worker.ts'
import { largePageHeapMegabytes } from './rendering-limits.ts'
import { DocumentNotReadError, RendererStoppedError } from './rendering-queue.ts'

/** `databaseUrl` is that of the role of the API. */
type ThreadOptions = { brand: Brand; databaseUrl: string }

/** A thread that renders one page at a time. The first request starts it. */
export class LargePageThread {
  readonly #options: ThreadOptions
  #worker: Worker | undefined
  #isStopped = false

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  /**
   * Returns the rendering. Throws DocumentNotReadError if the document cannot be read. After any
   * other failure the thread is ended and replaced.
   */
  async render(
    request: LargePageRequest,
    timeoutMs = timeouts.quotes.pageRendering.ms,
  ): Promise<EncodedContent> {
    if (this.#isStopped) throw new RendererStoppedError('The service is stopping.')
    const worker = this.#startWorker()
    worker.ref()
    const finished = new AbortController()
    try {
      return await pTimeout(requestRendering(worker, request, finished.signal), {
        milliseconds: timeoutMs,
        message: `The page took longer than ${timeoutMs} ms.`,
      })
    } catch (error) {
      if (error instanceof DocumentNotReadError) throw error
      if (this.#worker === worker) this.#stopWorker()
      throw this.#isStopped ? new RendererStoppedError('The service is stopping.') : error
    } finally {
      finished.abort()
      // An idle thread must not keep the service running.
      worker.unref()
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#stopWorker()
  }

  #stopWorker(): void {
    void this.#worker?.terminate()
    this.#worker = undefined
  }

  #startWorker(): Worker {
    if (this.#worker) return this.#worker
    // The thread gets no environment: it needs nothing of it but the address of the database.
    const worker = new Worker(new URL('large-page-worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
      workerData: this.#options,
      resourceLimits: { maxOldGenerationSizeMb: largePageHeapMegabytes },
    })
    // Without a listener an 'error' event would end the service. The request under way fails.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    this.#worker = worker
    return worker
  }
}

/** Throws if the thread ends, for example because it needs too much memory. */
async function requestRendering(
  worker: Worker,
  request: LargePageRequest,
  signal: AbortSignal,
): Promise<EncodedContent> {
  const ended = once(worker, 'exit', { signal }).then(() => {
    throw new Error('The thread for large pages ended.')
  })
  const answered = once(worker, 'message', { signal }) as Promise<[LargePageResult]>
  worker.postMessage(request)
  const [result] = await Promise.race([answered, ended])
  if ('reason' in result) throw toError(result)
  return toBuffers(result)
}

function toError({ reason, message }: LargePageFailure): Error {
  if (reason === 'not-rendered') return new Error(`Rendering the page failed: ${message}`)
  if (reason === 'closed') return new DocumentNotReadError(message)
  const cause = reason === 'altered' ? new AlteredDocumentError(message) : new Error(message)
  return new DocumentNotReadError('The document was not read.', { cause })
}

/** Buffers arrive from a thread as plain byte arrays. */
function toBuffers({ identity, gzip, br }: EncodedContent): EncodedContent {
  const view = ({ buffer, byteOffset, length }: Uint8Array<ArrayBufferLike>) =>
    Buffer.from(buffer, byteOffset, length)
  return { identity: identity && view(identity), gzip: view(gzip), br: view(br) }
}
