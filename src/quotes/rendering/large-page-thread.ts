// Starts, stops and replaces the thread that renders large pages (large-page-worker.ts).
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import pTimeout from 'p-timeout'
import type { Brand } from '../../company/brand.ts'
import { timeouts } from '../../timeouts.ts'
import type { EncodedContent } from './encoded-content.ts'
import type { LargePageRequest, LargePageResult } from './large-page-worker.ts'
import { largePageHeapMegabytes } from './rendering-limits.ts'
import { RendererStoppedError } from './rendering-queue.ts'

/** A thread that renders one page at a time. The first request starts it. */
export class LargePageThread {
  readonly #brand: Brand
  #worker: Worker | undefined
  #isStopped = false

  constructor(brand: Brand) {
    this.#brand = brand
  }

  /** Returns the rendering. After a failure the thread is ended and replaced. */
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
    // The thread gets no environment: it needs none, and it holds secrets.
    const worker = new Worker(new URL('large-page-worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
      workerData: { brand: this.#brand },
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
  if ('failure' in result) throw new Error(`Rendering the page failed: ${result.failure}`)
  return toBuffers(result)
}

/** Buffers arrive from a thread as plain byte arrays. */
function toBuffers({ identity, gzip, br }: EncodedContent): EncodedContent {
  const view = ({ buffer, byteOffset, length }: Uint8Array<ArrayBufferLike>) =>
    Buffer.from(buffer, byteOffset, length)
  return { identity: identity && view(identity), gzip: view(gzip), br: view(br) }
}
