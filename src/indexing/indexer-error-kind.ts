// Classifies the errors of the indexer by what failed, for its metrics.
import { MeilisearchApiError, MeilisearchError } from 'meilisearch'
import { DatabaseError } from 'pg'
import { isBrokenConnection, isPoolTimeout } from '../database/failover/broken-connections.ts'
import type { IndexerErrorKind } from '../monitoring/indexer-state.ts'
import { PayloadRejected } from './documents/document-upload.ts'
import { TaskError } from './engine/engine-tasks.ts'
import { KeyUnknown } from './engine/permanent-keys.ts'
import { LeaseLost, ServerReplaced } from './lease/indexer-lease.ts'
import { SeveralServersFound } from './single-server-check.ts'

/** Returns the kind of an error that ended a run; of several errors, the first known kind. */
export function findErrorKind(error: unknown): IndexerErrorKind {
  if (error instanceof AggregateError)
    return error.errors.map(findErrorKind).find((kind) => kind !== 'other') ?? 'other'
  if (error instanceof ServerReplaced) return 'postgresql'
  if (error instanceof LeaseLost) return 'lease_lost'
  if (error instanceof SeveralServersFound) return 'several_servers'
  if (error instanceof TaskError || error instanceof PayloadRejected) return 'engine_task'
  if (error instanceof KeyUnknown || error instanceof MeilisearchApiError) return 'engine_refused'
  if (error instanceof MeilisearchError) return 'engine_unreachable'
  return isPostgresError(error) ? 'postgresql' : 'other'
}

/** The messages of the driver's errors without a code if PostgreSQL refuses encryption. */
const encryptionMessages = [
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
]

function isPostgresError(error: unknown): boolean {
  if (error instanceof DatabaseError || isBrokenConnection(error)) return true
  if (!(error instanceof Error)) return false
  return isPoolTimeout(error) || encryptionMessages.includes(error.message)
}
