// Splits a pressed key such as `Control+k`.

/** Returns the modifiers and the key. */
export function splitKey(pressed: string): { modifiers: string[]; key: string } {
  const modifiers = pressed.split('+')
  const key = modifiers.pop() ?? ''
  return { modifiers, key }
}
