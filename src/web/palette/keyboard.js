// Maps keys to options of the result list, and says what the others do.
import { isMac } from './hotkey.js'

export const modifierName = isMac ? '⌘' : 'Ctrl'

const pageLength = 5

/**
 * Returns the index of the option to which a key moves, or null if the key only edits the text.
 * @param {string} key
 * @param {{ activeIndex: number, lastIndex: number, hasUserSelection: boolean }} list
 *   `hasUserSelection`: whether the user has already moved in the list
 * @param {HTMLInputElement} input
 */
export function optionIndexForKey(key, { activeIndex, lastIndex, hasUserSelection }, input) {
  if (key === 'ArrowDown') return activeIndex >= lastIndex ? 0 : activeIndex + 1
  if (key === 'ArrowUp') return activeIndex <= 0 ? lastIndex : activeIndex - 1
  if (lastIndex < 0) return null
  if (key === 'PageDown') return Math.min(lastIndex, activeIndex + pageLength)
  if (key === 'PageUp') return Math.max(0, activeIndex - pageLength)
  // Home and End move in the list if the user is in it or the cursor is at that end of the text.
  const { selectionStart, selectionEnd, value } = input
  const movesInList = (/** @type {number} */ end) =>
    hasUserSelection || (selectionStart === end && selectionEnd === end)
  if (key === 'Home' && movesInList(0)) return 0
  if (key === 'End' && movesInList(value.length)) return lastIndex
  return null
}

/**
 * Describes for screen readers the keys that a standard listbox does not have.
 * @param {import('./palette.d.ts').PaletteTexts['hints']} hints
 * @param {string | null} favourite null if the page has switched favourites off
 */
export function describeKeys({ chooseMore, copy }, favourite) {
  const favouriteKey = favourite ? `, Shift+Enter: ${favourite}` : ''
  return `${modifierName}+Enter: ${chooseMore}${favouriteKey}, ${modifierName}+C: ${copy}`
}

/**
 * Returns whether an input method handles the key. Some browsers signal it only by key code 229.
 * @param {KeyboardEvent} event
 */
export function isHandledByInputMethod({ isComposing, keyCode }) {
  return isComposing || keyCode === 229
}
