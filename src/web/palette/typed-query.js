// Converts the typed text to a query within the limits of the search endpoint.

const maxCharacters = 200
const maxBytes = 512
/** The characters that the input shows between a dead key and its letter, for example ´. */
const pendingAccent = /^[\p{Sk}\p{Lm}\p{M}~^'"]+$/u
const encoder = new TextEncoder()

/**
 * Returns the query for a typed text: trimmed, in NFC, at most 200 characters and 512 bytes.
 * @param {string} typed
 */
export function queryFromText(typed) {
  const normalized = typed.toWellFormed().normalize('NFC').trim()
  let query = [...normalized].slice(0, maxCharacters).join('')
  while (encoder.encode(query).length > maxBytes) query = query.slice(0, -1).toWellFormed()
  return query
}

/** Returns whether a dead key was pressed and its letter not yet. @param {InputEvent} event */
export function isPendingAccent({ isComposing, data }) {
  return isComposing && pendingAccent.test(data ?? '')
}
