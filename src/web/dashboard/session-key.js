// The visitor's own key: in this tab's session only, gone with it. It is sent to this service and nowhere else.

const name = 'trade-quoting-service stats key'

export const sessionKey = {
  /** @returns {string | null} */
  read() {
    try {
      return sessionStorage.getItem(name)
    } catch {
      return null
    }
  },
  /** @param {string | null} key */
  write(key) {
    try {
      if (key === null) sessionStorage.removeItem(name)
      else sessionStorage.setItem(name, key)
    } catch {
      // A browser that keeps nothing asks for it again at the next visit.
    }
  },
}
