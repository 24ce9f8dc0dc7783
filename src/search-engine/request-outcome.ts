// The errors of requests to the search engine, and what they say about the engine.

/**
 * How a request ended:
 * - `answered`: the engine answered.
 * - `rejected`: the engine rejected this request as invalid. It answers other requests.
 * - `timeout`: the engine was too slow, or failed at this request (HTTP 429 and 500). It may answer
 *   other requests.
 * - `outage`: no request can succeed: no connection, no index, an invalid key.
 */
export type RequestOutcome = 'answered' | FailedOutcome
export type FailedOutcome = 'rejected' | 'timeout' | 'outage'

const invalidRequestStatuses = [400, 413, 414]
/** An invalid key, or an index that does not exist. */
const outageStatuses = [401, 403, 404]

/** The search engine did not answer within its time limit. */
export class EngineTimeout extends Error {
  constructor(ms: number) {
    super(`the search engine took more than ${ms} ms`)
  }
}

/** Meilisearch answered with a status other than 200. */
export class EngineError extends Error {
  readonly status: number
  /** For example `index_not_found`. Empty if a proxy answered. */
  readonly code: string

  /** The message has only the error code of the body, because the whole body repeats the query. */
  constructor(status: number, body: string) {
    const code = readErrorCode(body)
    super(`Meilisearch answered ${status}${code === '' ? '' : ` (${code})`}`)
    this.status = status
    this.code = code
  }
}

/**
 * A request failed, or its answer cannot be used, because of `cause`. Distinguishes failures of the
 * engine from defects of the code that uses its results.
 */
export class EngineFailure extends Error {
  constructor(cause: unknown) {
    super('the search engine failed', { cause })
  }
}

/** Returns how a request with this error of the client ended. */
export function classifyFailure(error: unknown): FailedOutcome {
  if (error instanceof EngineTimeout) return 'timeout'
  if (error instanceof Error && error.name === 'TimeoutError') return 'timeout'
  if (!(error instanceof EngineError)) return 'outage'
  // A request with several queries answers 400 if the index is missing.
  if (error.code === 'index_not_found') return 'outage'
  if (invalidRequestStatuses.includes(error.status)) return 'rejected'
  return outageStatuses.includes(error.status) ? 'outage' : 'timeout'
}

/** Returns for example `invalid_search_filter`; empty if there is none. */
function readErrorCode(body: string): string {
  try {
    const { code } = JSON.parse(body) as { code?: unknown }
    return typeof code === 'string' ? code : ''
  } catch {
    // A proxy in front of the engine answered, and not with JSON. The status says enough.
    return ''
  }
}
