// The visitor's key: stored in sessionStorage of this tab only, and sent only to this service.

const storageName = 'trade-quoting-service stats key'

/** @returns {string | null} */
export function readSessionKey() {
  try {
    return sessionStorage.getItem(storageName)
  } catch {
    // The browser denies storage.
    return null
  }
}

/** @param {string | null} key null removes the key */
export function writeSessionKey(key) {
  try {
    if (key === null) sessionStorage.removeItem(storageName)
    else sessionStorage.setItem(storageName, key)
  } catch {
    // The browser denies storage: the visitor has to enter the key again.
  }
}

/** Returns the Authorization header with the key; no header if there is no key. */
export function authorizationHeader() {
  const key = readSessionKey()
  return /** @type {Record<string, string>} */ (
    key === null ? {} : { authorization: `Bearer ${key}` }
  )
}
