// Logs outages of search engines, searches that an engine rejects as invalid, and failures to read
// the words of the company.
import { timeouts } from '../timeouts.ts'

type Log = Record<'info' | 'warn' | 'error', (values: object, message: string) => void>

export type SearchLog = {
  /** Logs that an engine became unavailable, with the error, or available again. */
  logAvailability(engineName: string, isAvailable: boolean, error?: unknown): void
  /** Logs an error of this service: it has sent a request that is invalid for the engine. */
  logRejection(engineName: string, error: unknown): void
  /** Logs that the words of the company cannot be read. */
  logWordsFailure(error: unknown): void
}

/**
 * Returns functions that write to `log`. Rejections are logged at most once in ten seconds for each
 * engine, with the number of those that were not logged: a caller may cause one at every keystroke.
 */
export function createSearchLog(log: Log): SearchLog {
  const rejections = new Map<string, { loggedAt: number; unlogged: number }>()
  return {
    logAvailability(engine, isAvailable, err) {
      if (isAvailable) log.info({ engine }, 'search engine available again')
      else
        log.warn({ engine, err }, 'search engine unavailable; another engine or PostgreSQL answers')
    },
    logRejection(engine, err) {
      const now = performance.now()
      const last = rejections.get(engine)
      if (last && now - last.loggedAt < timeouts.searchEngine.rejectionLog.ms) {
        last.unlogged += 1
        return
      }
      rejections.set(engine, { loggedAt: now, unlogged: 0 })
      log.error(
        { engine, err, alsoRejected: last?.unlogged ?? 0 },
        'search engine rejected a search as invalid; PostgreSQL answers',
      )
    },
    logWordsFailure(err) {
      log.warn({ err }, 'the words of the company cannot be read; search uses the last known ones')
    },
  }
}
