// The errors that end a run of the indexer: their kind for the metrics, and their line in the log.
import { MeilisearchApiError, MeilisearchError } from 'meilisearch'
import { DatabaseError } from 'pg'
import { isBrokenConnection, isPoolTimeout } from '../database/failover/broken-connections.ts'
import { describeError, describeStacks } from '../monitoring/describe-error.ts'
import type { IndexerErrorKind } from '../monitoring/indexer-state.ts'
import { RepetitionFilter } from '../monitoring/log/failure-log.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { toSentence } from '../text/to-sentence.ts'
import { describeErrorWithAdvice, TaskFailed } from './engine.ts'
import { LeaseLost, ServerReplaced } from './lease.ts'
import { WriteRejected } from './upload.ts'

// Most errors are short: a restarted server, a broken connection.
const firstPauseMs = 200
// The API uses a recovered engine within a second, so its index must catch up soon.
const maxPauseMs = 1_000
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

/** The components that the messages of these errors do not name. */
const components: Partial<Record<IndexerErrorKind, string>> = {
  postgresql: 'PostgreSQL',
  engine_refused: 'Meilisearch',
  engine_unreachable: 'Meilisearch',
}

/** Logs each error once until it is reset, and again every half hour, a bug with its stack. */
export class ErrorLog {
  readonly #log: LogLine
  readonly #causes = new RepetitionFilter(reminderInterval)
  #pauseMs = firstPauseMs

  constructor(log: LogLine) {
    this.#log = log
  }

  /** Whether an error has occurred since the last reset. */
  get isFailing(): boolean {
    return !this.#causes.isEmpty()
  }

  /** `consequence`: what the indexer does now. */
  write(error: unknown, consequence: string): void {
    const cause = describeCause(error)
    if (this.#causes.recordError(cause) === null) return
    const kind = findErrorKind(error)
    const origin = describeOrigin(error, kind)
    const line = `Indexing failed${origin}: ${toSentence(cause)} ${consequence}`
    if (kind === 'other') this.#log(`${line}\n${describeStacks(error)}`, 'error')
    else this.#log(line, 'warn')
  }

  /** Returns how long to wait after an error: each time twice as long, up to a second. */
  nextPauseMs(): number {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(maxPauseMs, pauseMs * 2)
    return pauseMs
  }

  reset(): void {
    this.#causes.clear()
    this.#pauseMs = firstPauseMs
  }
}

/** Returns in parentheses the component or the task that the message does not name, or ''. */
function describeOrigin(error: unknown, kind: IndexerErrorKind): string {
  if (error instanceof TaskFailed) return ` (task ${error.taskNumber})`
  const component = error instanceof LeaseLost ? undefined : components[kind]
  return component === undefined ? '' : ` (${component})`
}

/** Returns the message of the error; for a lost lease also what failed because of that. */
function describeCause(error: unknown): string {
  const description = describeErrorWithAdvice(error)
  return error instanceof LeaseLost && error.cause !== undefined
    ? `${description}: ${describeError(error.cause)}`
    : description
}
