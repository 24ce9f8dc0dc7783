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
import { readDocument, readReplicatedDocument } from '../document-reader.ts'
import type { OpenLink } from '../links/read-link.ts'
import { type EncodedContent, encodeAnySizeSync } from './encoded-content.ts'
import { type PageOrJson, renderPageOrJson } from './render-page-or-json.ts'
import { maxPageOrJsonBytes } from './rendering-limits.ts'
import { performTasks } from './rendering-process-messages.ts'

/** What the process renders. The URLs use the database role of the API. */
export type LargePageTask = {
  token: string
  link: OpenLink
  wanted: PageOrJson
  brand: Brand
  databaseUrl: string
  /** Null if the document is read from the primary only. */
  replicaUrl: string | null
}

let db: Database | undefined
let replicaDb: Database | undefined

performTasks(renderLargePage)

async function renderLargePage(
  task: LargePageTask,
  onReplicaRead: (outcome: ReplicaReadOutcome) => void,
): Promise<EncodedContent> {
  const { token, link, wanted, brand, databaseUrl } = task
  db ??= createKysely(openApiPool(databaseUrl, largePageConnections))
  const document =
    (await readFromReplica(task, onReplicaRead)) ?? (await readDocument(db, token, link))
  const content = renderPageOrJson({ ...link, document }, wanted, brand)
  if (content.length > maxPageOrJsonBytes)
    throw new Error(`The rendering has more than ${maxPageOrJsonBytes} bytes.`)
  return encodeAnySizeSync(content)
}

/** Returns null if the document must be read from the primary. */
async function readFromReplica(
  { token, link, replicaUrl }: LargePageTask,
  onReplicaRead: (outcome: ReplicaReadOutcome) => void,
): Promise<string | null> {
  if (replicaUrl === null) return null
  try {
    replicaDb ??= createKysely(openReplicaPool(replicaUrl, largePageConnections))
    const document = await readReplicatedDocument(replicaDb, token, link)
    onReplicaRead(document === null ? 'behind' : 'used')
    return document
  } catch {
    // Not logged: the service checks the replica and logs why it fails. It counts this failure.
    onReplicaRead('failed')
    return null
  }
}
