// The program of the child process that reads, verifies, renders and compresses large quotes. In
// the main process, even reading a document of 2,000 lines would delay other requests.
import { largePageConnections } from '../../database/connection-counts.ts'
import {
  createKysely,
  type Database,
  openApiPool,
  openReplicaPool,
} from '../../database/postgres-pool.ts'
import { readDocument, readReplicatedDocument } from '../links/read-document.ts'
import type { OpenLink } from '../links/read-link.ts'
import { maxPageOrJsonBytes } from '../rendering/rendering-limits.ts'
import { performTasks, type ReplicaReadListener } from '../rendering/rendering-process.ts'
import { type EncodedContent, encodeAnySizeSync } from './encoded-content.ts'
import type { PageOptions } from './quote-page.ts'
import { type PageOrJsonVariant, renderPageOrJson } from './render-page-or-json.ts'

/** What the process renders. The URLs use the database role of the API. */
export type LargePageTask = {
  token: string
  link: OpenLink
  variant: PageOrJsonVariant
  options: PageOptions
  databaseUrl: string
  /** Null if the document is read from the primary only. */
  replicaUrl: string | null
}

let db: Database | undefined
let replicaDb: Database | undefined

performTasks(renderLargePage)

async function renderLargePage(
  task: LargePageTask,
  onReplicaRead: ReplicaReadListener,
): Promise<EncodedContent> {
  const { token, link, variant, options, databaseUrl } = task
  db ??= createKysely(openApiPool(databaseUrl, largePageConnections))
  const documentJson =
    (await readFromReplica(task, onReplicaRead)) ?? (await readDocument(db, token, link))
  const content = renderPageOrJson({ ...link, documentJson }, variant, options)
  if (content.length > maxPageOrJsonBytes)
    throw new Error(`The rendering has more than ${maxPageOrJsonBytes} bytes.`)
  return encodeAnySizeSync(content)
}

/** Returns null if the document must be read from the primary. */
async function readFromReplica(
  { token, link, replicaUrl }: LargePageTask,
  onReplicaRead: ReplicaReadListener,
): Promise<string | null> {
  if (replicaUrl === null) return null
  try {
    replicaDb ??= createKysely(openReplicaPool(replicaUrl, largePageConnections))
    const documentJson = await readReplicatedDocument(replicaDb, token, link)
    onReplicaRead(documentJson === null ? 'behind' : 'used')
    return documentJson
  } catch {
    // Not logged here: the service counts this failure. It checks the replica and logs why that
    // fails.
    onReplicaRead('failed')
    return null
  }
}
