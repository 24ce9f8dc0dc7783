// Decides how long the indexer waits after an error, and which errors it logs.
import { describeError, describeStacks } from '../monitoring/describe-error.ts'
import type { IndexerErrorKind } from '../monitoring/indexer-state.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { toSentence } from '../text/to-sentence.ts'
import { TaskError } from './engine/engine-tasks.ts'
import { describeErrorWithAdvice } from './engine/request-rejection.ts'
import { findErrorKind } from './indexer-error-kind.ts'
import { LeaseLost } from './lease/indexer-lease.ts'
import { pause } from './scheduling/pause.ts'

// Most errors are short: a restarted server, a broken connection.
export const firstBackoffMs = 200
// The API uses a recovered engine within a second, so its index must catch up soon.
export const maxBackoffMs = 1_000
// The first line may be hours old when somebody looks. More lines would hide others.
const failureReminderMs = 1_800_000

const maxRememberedCauses = 100

/** The components that the messages of these errors do not name. */
const components: Partial<Record<IndexerErrorKind, string>> = {
  postgresql: 'PostgreSQL',
  engine_refused: 'Meilisearch',
  engine_unreachable: 'Meilisearch',
}

/**
 * Waits after errors, each time twice as long, up to a limit. Logs a repeated error only once, and
 * again at intervals of `failureReminderMs` while it lasts. An error that is a bug
 * is logged with its stack.
 */
export class ErrorBackoff {
  readonly #log: LogLine
  readonly #readClockMs: () => number
  #pauseMs: number = firstBackoffMs
  /** When each cause since the last reset was last logged. */
  readonly #loggedAtMs = new Map<string, number>()
  /** When the first error since the last reset occurred. */
  #failingSinceMs = 0

  /** `readClockMs` returns a time that never goes back. */
  constructor(log: LogLine, readClockMs: () => number = () => performance.now()) {
    this.#log = log
    this.#readClockMs = readClockMs
  }

  /** Whether an error has occurred since the last reset. */
  get isFailing(): boolean {
    return this.#loggedAtMs.size > 0
  }

  /** Logs the error if that is due, and waits until the pause is over or the signal is aborted. */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    this.#logIfDue(error, 'Trying again.')
    await pause(this.#pauseMs, signal)
    this.#pauseMs = Math.min(maxBackoffMs, this.#pauseMs * 2)
  }

  /** Logs the error that ended a run during a stop, unless it was logged a short time ago. */
  logLast(error: unknown): void {
    this.#logIfDue(error, 'The indexer stops.')
  }

  reset(): void {
    this.#pauseMs = firstBackoffMs
    this.#loggedAtMs.clear()
  }

  #logIfDue(error: unknown, consequence: string): void {
    const nowMs = this.#readClockMs()
    if (!this.isFailing) this.#failingSinceMs = nowMs
    const cause = describeCause(error)
    const loggedAtMs = this.#loggedAtMs.get(cause)
    const wasLogged = loggedAtMs !== undefined
    if (wasLogged && nowMs - loggedAtMs < failureReminderMs) return
    // A cause may contain a number that changes with each attempt.
    if (this.#loggedAtMs.size >= maxRememberedCauses) this.#loggedAtMs.clear()
    this.#loggedAtMs.set(cause, nowMs)
    const minutes = Math.floor((nowMs - this.#failingSinceMs) / 60_000)
    const start = wasLogged ? `Indexing still fails after ${minutes} minutes` : 'Indexing failed'
    const kind = findErrorKind(error)
    const where = describeOrigin(error, kind)
    const line = `${start}${where}: ${toSentence(cause)} ${consequence}`
    if (kind === 'other') this.#log(`${line}\n${describeStacks(error)}`, 'error')
    else this.#log(line, 'warn')
  }
}

/** Returns in parentheses the component or the task that the message does not name, or ''. */
function describeOrigin(error: unknown, kind: IndexerErrorKind): string {
  if (error instanceof TaskError) return ` (task ${error.taskNumber})`
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
