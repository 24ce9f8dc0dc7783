// Checks the key of the palette before anything is sent, and tells the developer of the page what
// is wrong.

/** @import { FailureReason } from './search-requests.js' */

/** Secret keys begin with this. They must never be in a page or in a URL. */
const secretKeyPrefix = 'tqs_'

/** @type {Set<string>} */
const logged = new Set()

/** Tells the developer of the page what to do, or what went wrong. Each text is logged once. */
export function logProblem(/** @type {string} */ text) {
  if (!logged.has(text)) console.error(`<product-palette> on ${location.origin}: ${text}`)
  logged.add(text)
}

/**
 * Returns why a request with this key cannot succeed, or null. The service allows no page of
 * another origin to search without a key.
 * @param {string | null} key
 * @param {string} url the URL of the request
 * @returns {FailureReason | null}
 */
export function findKeyProblem(key, url) {
  const isSecret = key?.trim().startsWith(secretKeyPrefix)
  if (!isSecret && (key || new URL(url).origin === location.origin)) return null
  logProblem(
    isSecret
      ? 'this key is secret. Revoke it, and create a publishable one.'
      : 'set the attribute api-key.',
  )
  return 'unauthenticated'
}
