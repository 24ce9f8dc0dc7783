// The program of the child process that reads, verifies, renders and compresses large quotes. In
// the main process, even reading a document of 2,000 lines would delay other requests.
import type { Brand } from '../../company/brand.ts'
import { largePageConnections } from '../../database/connection-counts.ts'
import {
  createKysely,
  type Database,
  openApiPool,
  openReplicaPool,
} from '../../database/postgres-pool.ts'
import type { ReplicaReadOutcome } from '../../database/replica/replica.ts'
import {
  AlteredDocumentError,
  type OpenLink,
  type OpenQuote,
  readDocument,
  readReplicatedDocument,
} from '../read-shared-quote.ts'
import { serveRequests } from './child-request-loop.ts'
import { type EncodedContent, encodeAnySizeSync } from './encoded-content.ts'
import { type PageOrJson, renderPageOrJson } from './render-page-or-json.ts'
import { maxRenderingBytes } from './rendering-limits.ts'

export type LargePageRequest = {
  token: string
  link: OpenLink
  wanted: PageOrJson
  /** Whether to read the document from the replica first. */
  usesReplica: boolean
}

/** A request to the process. The brand and the databases are the same for all of its pages. */
export type LargePageRendering = LargePageRequest & {
  brand: Brand
  databaseUrl: string
  replicaUrl: string | null
}

/** Why the page was not rendered. `closed`: the link was closed meanwhile. */
export type LargePageFailure = {
  reason: 'altered' | 'closed' | 'not-read' | 'not-rendered'
  message: string
}
export type LargePageResult = {
  rendering: EncodedContent | LargePageFailure
  /** The outcome of reading from the replica, or null if the replica was not used. */
  replicaRead: ReplicaReadOutcome | null
}

let db: Database | undefined
let replicaDb: Database | undefined

serveRequests(handleRequest)

async function handleRequest(request: LargePageRendering): Promise<LargePageResult> {
  const { document, outcome } = await readFromReplica(request)
  return { rendering: await readAndRender(request, document), replicaRead: outcome }
}

async function readAndRender(
  { token, link, wanted, brand, databaseUrl }: LargePageRendering,
  replicatedDocument: string | null,
): Promise<EncodedContent | LargePageFailure> {
  try {
    db ??= createKysely(openApiPool(databaseUrl, largePageConnections))
    const document = replicatedDocument ?? (await readDocument(db, token, link))
    return document === null
      ? { reason: 'closed', message: `Link ${link.shareId} has no document.` }
      : renderAndEncode({ ...link, document }, wanted, brand)
  } catch (error) {
    const reason = error instanceof AlteredDocumentError ? 'altered' : 'not-read'
    return { reason, message: describe(error) }
  }
}

async function readFromReplica({
  token,
  link,
  usesReplica,
  replicaUrl,
}: LargePageRendering): Promise<{ document: string | null; outcome: ReplicaReadOutcome | null }> {
  if (replicaUrl === null || !usesReplica) return { document: null, outcome: null }
  try {
    replicaDb ??= createKysely(openReplicaPool(replicaUrl, largePageConnections))
    const document = await readReplicatedDocument(replicaDb, token, link)
    return { document, outcome: document === null ? 'behind' : 'used' }
  } catch {
    // Not logged: the service checks the replica and logs why it fails. It counts this failure.
    return { document: null, outcome: 'failed' }
  }
}

function renderAndEncode(
  quote: OpenQuote,
  wanted: PageOrJson,
  brand: Brand,
): EncodedContent | LargePageFailure {
  try {
    const content = renderPageOrJson(quote, wanted, brand)
    if (content.length > maxRenderingBytes)
      throw new Error(`The rendering has more than ${maxRenderingBytes} bytes.`)
    return encodeAnySizeSync(content)
  } catch (error) {
    return { reason: 'not-rendered', message: describe(error) }
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
