// Describes why a request for statistics has failed.

/** @import { ErrorKind } from './stats-polling.js' */

/**
 * @typedef {object} ErrorDescription
 * @property {ErrorKind} kind
 * @property {number | null} [retryAfterMs]
 * @property {string} [detail]
 * @property {string[]} [parameters]
 */

/** @param {Response} response @param {boolean} hadKey @returns {Promise<ErrorDescription>} */
export async function describeError(response, hadKey) {
  // The error page of a proxy is no JSON. Its status is sufficient.
  const problem = /** @type {{ detail?: string, errors?: { parameter: string }[] }} */ (
    await response.json().catch(() => ({}))
  )
  const retryAfterSeconds = Number(response.headers.get('retry-after'))
  return {
    kind: errorKindOf(response.status, hadKey),
    retryAfterMs: retryAfterSeconds > 0 ? retryAfterSeconds * 1_000 : null,
    detail: problem.detail ?? '',
    parameters: (problem.errors ?? []).map(({ parameter }) => parameter),
  }
}

/** Describes why there is no response, or none that can be read. @returns {ErrorDescription} */
export function describeNetworkError() {
  return { kind: navigator.onLine ? 'unavailable' : 'offline' }
}

/** @param {number} status @param {boolean} hadKey @returns {ErrorKind} */
function errorKindOf(status, hadKey) {
  if (status === 401) return hadKey ? 'keyInvalid' : 'keyMissing'
  if (status === 403) return 'scopeMissing'
  if (status === 400) return 'invalidFilter'
  if (status === 429) return 'limited'
  return status === 503 || status === 502 || status === 504 ? 'unavailable' : 'failed'
}
