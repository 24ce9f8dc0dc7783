// The thread that renders and compresses large pages, so that the main thread keeps answering.
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { Brand } from '../../company/brand.ts'
import type { OpenQuote } from '../read-shared-quote.ts'
import { type EncodedContent, encodeContentSync } from './encoded-content.ts'
import { type PageOrJson, renderPageOrJson } from './page-or-json.ts'
import { maxRenderingBytes } from './rendering-limits.ts'

export type LargePageRequest = { quote: OpenQuote; wanted: PageOrJson }
export type LargePageResult = EncodedContent | { failure: string }

const renderingPriority = 5
const { brand } = workerData as { brand: Brand }

// On Linux this changes the priority of this thread only. The main thread has priority 0.
if (process.platform === 'linux') setPriority(renderingPriority)

parentPort?.on('message', (request: LargePageRequest) => {
  parentPort?.postMessage(handleRequest(request))
})

function handleRequest({ quote, wanted }: LargePageRequest): LargePageResult {
  try {
    const content = renderPageOrJson(quote, wanted, brand)
    if (content.length > maxRenderingBytes)
      return { failure: `The rendering has more than ${maxRenderingBytes} bytes.` }
    return encodeContentSync(content)
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
