// Stores the visitor's key in the sessionStorage of this tab. It is sent to this service only.

const storageName = 'trade-quoting-service stats key'

/** Returns null if no key is stored. @returns {string | null} */
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

/** Returns an object with the Authorization header, or {} if no key is stored. */
export function authorizationHeader() {
  const key = readSessionKey()
  return /** @type {Record<string, string>} */ (
    key === null ? {} : { authorization: `Bearer ${key}` }
  )
}
