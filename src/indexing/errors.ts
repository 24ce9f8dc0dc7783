// The errors that end a run of the indexer: their kind for the metrics, and their line in the log.
import { MeilisearchApiError, MeilisearchError } from 'meilisearch'
import { DatabaseError } from 'pg'
import { isBrokenConnection, isPoolTimeout } from '../database/failover/broken-connections.ts'
import { describeStacks } from '../monitoring/describe-error.ts'
import type { IndexerErrorKind } from '../monitoring/indexer-state.ts'
import { toSentence } from '../text/to-sentence.ts'
import { describeErrorWithAdvice, TaskFailed } from './engine.ts'
import { LeaseLost, ServerReplaced } from './lease.ts'
import { WriteRejected } from './upload.ts'

// The first line may be hours old when somebody looks. More lines would hide others.
export const reminderInterval = { ms: 1_800_000 }

/** Returns the kind of an error that ended a run; of several errors, the first known kind. */
export function findErrorKind(error: unknown): IndexerErrorKind {
  if (error instanceof AggregateError)
    return error.errors.map(findErrorKind).find((kind) => kind !== 'other') ?? 'other'
  if (error instanceof ServerReplaced) return 'postgresql'
  if (error instanceof LeaseLost) return 'lease_lost'
  if (error instanceof TaskFailed || error instanceof WriteRejected) return 'engine_task'
  if (error instanceof MeilisearchApiError) return 'engine_refused'
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

/** Returns the kind and the message of an error, and for a bug the stacks after a line break. */
export function describeFailure(error: unknown): { cause: string; stacks: string } {
  const kind = findErrorKind(error)
  return {
    cause: `(${kind}): ${toSentence(describeErrorWithAdvice(error))}`,
    stacks: kind === 'other' ? `\n${describeStacks(error)}` : '',
  }
}
