// Which option of the result list a key leads to.

const pageLength = 5

/**
 * Returns the index of the option that a key leads to, or null if the key belongs to the text.
 * @param {string} key
 * @param {{ activeIndex: number, lastIndex: number, hasUserSelection: boolean }} list
 *   `hasUserSelection`: whether the user has already moved into the list
 * @param {HTMLInputElement} input
 */
export function optionIndexForKey(key, { activeIndex, lastIndex, hasUserSelection }, input) {
  if (key === 'ArrowDown') return activeIndex >= lastIndex ? 0 : activeIndex + 1
  if (key === 'ArrowUp') return activeIndex <= 0 ? lastIndex : activeIndex - 1
  if (lastIndex < 0) return null
  if (key === 'PageDown') return Math.min(lastIndex, activeIndex + pageLength)
  if (key === 'PageUp') return Math.max(0, activeIndex - pageLength)
  // Home and End move the cursor first, unless it is there already or the user is in the list.
  const { selectionStart, selectionEnd, value } = input
  const movesInList = (/** @type {number} */ end) =>
    hasUserSelection || (selectionStart === end && selectionEnd === end)
  if (key === 'Home' && movesInList(0)) return 0
  if (key === 'End' && movesInList(value.length)) return lastIndex
  return null
}

/**
 * Returns whether an input method handles the key. Some browsers signal it only by key code 229.
 * @param {KeyboardEvent} event
 */
export function isHandledByInputMethod({ isComposing, keyCode }) {
  return isComposing || keyCode === 229
}
