// Classifies how requests to the search engine end.
import { EngineError } from './search-client.ts'

/**
 * - `answered`: the engine answered.
 * - `rejected`: the engine rejected this request as invalid. It answers other requests.
 * - `timeout`: the engine was too slow, or failed at this request. It may answer other requests.
 * - `outage`: no request can succeed: no connection, no index, an invalid key.
 */
export type RequestOutcome = 'answered' | RequestFailure
export type RequestFailure = 'rejected' | 'timeout' | 'outage'

const invalidRequestStatuses = [400, 413, 414]
/** An invalid key, or an index that does not exist. */
const outageStatuses = [401, 403, 404]

/** The search engine did not answer within its time limit. */
export class EngineTimeout extends Error {
  constructor(ms: number) {
    super(`the search engine took more than ${ms} ms`)
  }
}

/** Returns what an error of a request says about the engine. */
export function classifyFailure(error: unknown): RequestFailure {
  if (error instanceof EngineTimeout) return 'timeout'
  if (error instanceof Error && error.name === 'TimeoutError') return 'timeout'
  if (!(error instanceof EngineError)) return 'outage'
  if (invalidRequestStatuses.includes(error.status)) return 'rejected'
  return outageStatuses.includes(error.status) ? 'outage' : 'timeout'
}
