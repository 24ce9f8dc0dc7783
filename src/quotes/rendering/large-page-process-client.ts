// Sends requests to the child process that renders large pages (large-page-process-main.ts), and
// throws its failures as errors.
import type { Brand } from '../../company/brand.ts'
import type { ReplicaReadOutcome } from '../../database/replica/replica.ts'
import { timeouts } from '../../timeouts.ts'
import { AlteredDocumentError } from '../read-shared-quote.ts'
import type { EncodedContent } from './encoded-content.ts'
import type {
  LargePageFailure,
  LargePageRendering,
  LargePageRequest,
  LargePageResult,
} from './large-page-process-main.ts'
import { largePageDataBytes, largePageHeapMegabytes } from './rendering-limits.ts'
import { RenderingProcess } from './rendering-process.ts'
import { DocumentNotReadError } from './rendering-queue.ts'

/** The URLs use the database role of the API. `replicaUrl` is null without a replica. */
type LargePageContext = { brand: Brand; databaseUrl: string; replicaUrl: string | null }
type LargePageOptions = Omit<LargePageContext, 'replicaUrl'> & {
  replicaUrl?: string | null
}

/** A process that renders one page at a time. The first request starts it. */
export class LargePageProcessClient {
  readonly #context: LargePageContext
  readonly #process: RenderingProcess<LargePageRendering, LargePageResult>

  constructor({ brand, databaseUrl, replicaUrl = null }: LargePageOptions) {
    this.#context = { brand, databaseUrl, replicaUrl }
    this.#process = new RenderingProcess({
      program: new URL('large-page-process-main.ts', import.meta.url),
      what: 'page',
      maxProcessorMs: timeouts.quotes.pageRendering.ms,
      maxElapsedMs: timeouts.quotes.starvedRendering.ms,
      maxDataBytes: largePageDataBytes,
      // Without --single-threaded, V8 would collect garbage and compile in further threads. They
      // would use a second core, and 60 large pages would take 3.2 s instead of 2.5 s.
      nodeOptions: [`--max-old-space-size=${largePageHeapMegabytes}`, '--single-threaded'],
    })
  }

  /**
   * Returns the rendering. Throws DocumentNotReadError if the document cannot be read. If the
   * process ends or exceeds a limit, replaces it and throws. Calls `onReplicaRead` if the
   * process tried to read from the replica.
   */
  async render(
    request: LargePageRequest,
    onReplicaRead: (outcome: ReplicaReadOutcome) => void = () => undefined,
  ): Promise<EncodedContent> {
    const { rendering, replicaRead } = await this.#process.request({
      ...this.#context,
      ...request,
    })
    if (replicaRead !== null) onReplicaRead(replicaRead)
    if ('reason' in rendering) throw toError(rendering)
    return toBuffers(rendering)
  }

  stop(): void {
    this.#process.stop()
  }
}

function toError({ reason, message }: LargePageFailure): Error {
  if (reason === 'not-rendered') return new Error(`Rendering the page failed: ${message}`)
  if (reason === 'closed') return new DocumentNotReadError(message)
  const cause = reason === 'altered' ? new AlteredDocumentError(message) : new Error(message)
  return new DocumentNotReadError('The document was not read.', { cause })
}

/** Buffers may arrive from a process as plain byte arrays. */
function toBuffers({ identity, gzip, br }: EncodedContent): EncodedContent {
  const view = ({ buffer, byteOffset, length }: Uint8Array<ArrayBufferLike>) =>
    Buffer.from(buffer, byteOffset, length)
  return { identity: identity && view(identity), gzip: view(gzip), br: view(br) }
}
