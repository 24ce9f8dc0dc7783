// Checks the key of the palette before anything is sent.

/** @import { FailureReason } from './search-requests.js' */

/** Secret keys begin with this. They must never be in a page or in a URL. */
const secretKeyPrefix = 'tqs_'

/** What the developer of the page must do. Each text is logged once. */
const advice = {
  missingEndpoint: 'set the attribute endpoint.',
  secretKey: 'this key is secret. Revoke it, and create a publishable one.',
  missingKey: 'set the attribute api-key.',
  refusedOrigin: 'no publishable key allows pages of this origin.',
}
/** @type {Set<keyof typeof advice>} */
const logged = new Set()

/** Logs what the developer of the page must do. @param {keyof typeof advice} problem */
export function logKeyProblem(problem) {
  if (!logged.has(problem))
    console.error(`<product-palette> on ${location.origin}: ${advice[problem]}`)
  logged.add(problem)
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
  logKeyProblem(isSecret ? 'secretKey' : 'missingKey')
  return 'unauthenticated'
}
