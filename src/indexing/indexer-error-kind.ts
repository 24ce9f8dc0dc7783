// Classifies the errors of the indexer by what failed, for its metrics.
import { MeilisearchApiError, MeilisearchError } from 'meilisearch'
import type { IndexerErrorKind } from '../monitoring/indexer-state.ts'
import { PayloadRejected } from './documents/document-upload.ts'
import { TaskFailed } from './engine/engine-tasks.ts'
import { SeveralServersFound } from './engine/single-server-check.ts'
import { LeaseLost, ServerReplaced } from './indexer-lease.ts'

/** Returns the kind of an error that ended a run; of several errors, the first known kind. */
export function findErrorKind(error: unknown): IndexerErrorKind {
  if (error instanceof AggregateError)
    return error.errors.map(findErrorKind).find((kind) => kind !== 'other') ?? 'other'
  if (error instanceof ServerReplaced) return 'postgresql'
  if (error instanceof LeaseLost) return 'lease_lost'
  if (error instanceof SeveralServersFound) return 'several_servers'
  if (error instanceof TaskFailed || error instanceof PayloadRejected) return 'engine_task'
  if (error instanceof MeilisearchApiError) return 'engine_refused'
  if (error instanceof MeilisearchError) return 'engine_unreachable'
  return isPostgresError(error) ? 'postgresql' : 'other'
}

/** The errors of the driver have a code of PostgreSQL or of the socket. */
function isPostgresError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return /^[0-9A-Z]{5}$|^E[A-Z]+$/.test(code) || /connection|timeout/i.test(error.message)
}
