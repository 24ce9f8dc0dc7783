// The thread that reads, verifies, renders and compresses large quotes, so that the main thread
// keeps answering: even reading a document of 2,000 lines would delay other requests.
import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { Brand } from '../../company/brand.ts'
import { largePageConnections } from '../../database/connection-counts.ts'
import { createKysely, openApiPool } from '../../database/postgres-pool.ts'
import {
  AlteredDocumentError,
  type OpenLink,
  type OpenQuote,
  readDocument,
} from '../read-shared-quote.ts'
import { type EncodedContent, encodeContentSync } from './encoded-content.ts'
import { type PageOrJson, renderPageOrJson } from './page-or-json.ts'
import { maxRenderingBytes, renderingPriority } from './rendering-limits.ts'

export type LargePageRequest = { token: string; link: OpenLink; wanted: PageOrJson }

/** Why there is no rendering. `closed`: the link was closed meanwhile. */
export type LargePageFailure = {
  reason: 'altered' | 'closed' | 'not-read' | 'not-rendered'
  message: string
}
export type LargePageResult = EncodedContent | LargePageFailure

const { brand, databaseUrl } = workerData as { brand: Brand; databaseUrl: string }
const db = createKysely(openApiPool(databaseUrl, largePageConnections))

// On Linux this changes the priority of this thread only. The main thread has priority 0.
// A process that was started with a lower priority may not raise it.
if (process.platform === 'linux' && getPriority() < renderingPriority)
  setPriority(renderingPriority)

parentPort?.on('message', async (request: LargePageRequest) => {
  parentPort?.postMessage(await handleRequest(request))
})

async function handleRequest({ token, link, wanted }: LargePageRequest): Promise<LargePageResult> {
  try {
    const document = await readDocument(db, token, link)
    return document === null
      ? { reason: 'closed', message: `Link ${link.shareId} has no document.` }
      : renderPage({ ...link, document }, wanted)
  } catch (error) {
    const reason = error instanceof AlteredDocumentError ? 'altered' : 'not-read'
    return { reason, message: describe(error) }
  }
}

function renderPage(quote: OpenQuote, wanted: PageOrJson): LargePageResult {
  try {
    const content = renderPageOrJson(quote, wanted, brand)
    if (content.length > maxRenderingBytes)
      throw new Error(`The rendering has more than ${maxRenderingBytes} bytes.`)
    return encodeContentSync(content)
  } catch (error) {
    return { reason: 'not-rendered', message: describe(error) }
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
