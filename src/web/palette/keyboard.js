// What keys do: the shortcut that opens the palette, and the text that is being typed.

export const defaultHotkey = 'mod+k'
export const isMac = /Mac|iP(hone|ad|od)/.test(globalThis.navigator?.platform ?? '')

/**
 * Returns whether an event is the shortcut. A shortcut without Ctrl, ⌘ or Alt does not apply in
 * text fields. Events that another handler has handled (preventDefault) never match.
 * @param {KeyboardEvent} event
 * @param {string} hotkey
 */
export function matchesHotkey(event, hotkey) {
  if (event.defaultPrevented || event.isComposing || !event.key) return false
  const parts = hotkey
    .toLowerCase()
    .replace('mod', isMac ? 'cmd' : 'ctrl')
    .split('+')
  const key = parts.pop()
  const has = (/** @type {string} */ name) => parts.includes(name)
  const ctrl = has('ctrl')
  const meta = has('meta') || has('cmd')
  const alt = has('alt')
  const hasModifier = ctrl || meta || alt
  return (
    pressedKey(event) === key &&
    event.ctrlKey === ctrl &&
    event.metaKey === meta &&
    event.altKey === alt &&
    // Without another modifier, Shift may be needed to type the character itself.
    (event.shiftKey === has('shift') || !hasModifier) &&
    (hasModifier || !isEditable(event.composedPath()[0]))
  )
}

/**
 * Returns the pressed key in lower case. If the layout has no Latin letters, uses the position of
 * the key.
 * @param {KeyboardEvent} event
 */
function pressedKey({ key, code }) {
  const isAsciiOrNamed = /^[\x21-\x7e]$/.test(key) || key.length > 1
  return isAsciiOrNamed ? key.toLowerCase() : code.replace(/^Key/, '').toLowerCase()
}

/** @param {EventTarget | undefined} target */
function isEditable(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select'))
  )
}

export const modifierName = isMac ? '⌘' : 'Ctrl'

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
