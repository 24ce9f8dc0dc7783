// Limits the time of the requests that one search sends to an engine.
import { EngineTimeout } from '../search-engine/request-outcome.ts'
import { engineTimeout } from '../search-engine/search-client.ts'

type EngineTimeLimit = {
  /** Aborts the requests. Its reason is an `EngineTimeout` if they have taken too long. */
  signal: AbortSignal
  abort(): void
  /** Call it when no request is running any more. */
  end(): void
}

/**
 * Starts the time limit. It also aborts the requests when `disconnected` aborts, and at once if it
 * has already aborted.
 */
export function startEngineTimeLimit(disconnected: AbortSignal): EngineTimeLimit {
  const limitMs = engineTimeout.ms
  const controller = new AbortController()
  const abort = () => controller.abort()
  if (disconnected.aborted) abort()
  disconnected.addEventListener('abort', abort)
  // Creates the error only at the limit, because its stack trace costs more than the timer.
  const timer = setTimeout(() => controller.abort(new EngineTimeout(limitMs)), limitMs).unref()
  return {
    signal: controller.signal,
    abort,
    end() {
      clearTimeout(timer)
      disconnected.removeEventListener('abort', abort)
    },
  }
}
