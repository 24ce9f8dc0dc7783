// Stores the visitor's key in the sessionStorage of this tab. It is sent to this service only.

const storageName = 'trade-quoting-service stats key'
/** The key if the browser denies storage. @type {string | null} */
let unstoredKey = null

/** Returns null if there is no key. @returns {string | null} */
export function readSessionKey() {
  try {
    return unstoredKey ?? sessionStorage.getItem(storageName)
  } catch {
    // The browser denies storage.
    return null
  }
}

/** @param {string | null} key null removes the key */
export function writeSessionKey(key) {
  unstoredKey = null
  try {
    if (key === null) sessionStorage.removeItem(storageName)
    else sessionStorage.setItem(storageName, key)
  } catch {
    // The browser denies storage. The page keeps the key until it is left.
    unstoredKey = key
  }
}

/** Returns an object with the Authorization header, or {} if there is no key. */
export function authorizationHeader() {
  const key = readSessionKey()
  return /** @type {Record<string, string>} */ (
    key === null ? {} : { authorization: `Bearer ${key}` }
  )
}
