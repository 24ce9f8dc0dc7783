// The keyboard shortcut that opens the palette, for example `mod+k`.

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
  const parts = hotkey.toLowerCase().split('+')
  const key = parts.pop() ?? ''
  const has = (/** @type {string[]} */ ...names) => names.some((name) => parts.includes(name))
  const ctrl = has('ctrl') || (has('mod') && !isMac)
  const meta = has('meta', 'cmd') || (has('mod') && isMac)
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
