// Work of the indexer on which nothing depends. Its errors are logged and recorded, not thrown.
import { FailureLog, type FailureTexts } from '../../monitoring/log/failure-log.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'

export type SideTaskOptions = {
  log: LogLine
  /** Called after each attempt. */
  onResult: (succeeded: boolean) => void
}

/** Returns a function that does the work and never rejects. Logs each cause of a failure once. */
export function createSideTask(
  work: () => Promise<unknown>,
  { log, onResult }: SideTaskOptions,
  texts: FailureTexts,
): () => Promise<void> {
  const failures = new FailureLog({ error: (line) => log(line, 'warn'), info: log }, texts)
  return async () => {
    try {
      await work()
      failures.logSuccess()
      onResult(true)
    } catch (error) {
      failures.logFailure(error)
      onResult(false)
    }
  }
}
