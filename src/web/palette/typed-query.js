// What is searched for: the typed text within the limits of the search endpoint.

const maxCharacters = 200
const maxBytes = 512
/** The characters that a dead key shows while it waits for its letter. */
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

/**
 * Returns whether the input only shows an accent that waits for its letter.
 * @param {InputEvent} event
 */
export function isPendingAccent({ isComposing, data }) {
  return isComposing && pendingAccent.test(data ?? '')
}
