// Removes characters from untrusted text that would hide or reorder other text.

// C0 and C1 controls except tab and line breaks, and the bidirectional embeddings, overrides and
// isolates (U+202A to U+202E, U+2066 to U+2069), which reorder the visible text.
const controlCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes controls
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Returns a text without control and bidirectional characters. Lone surrogates become U+FFFD.
 * The text is not escaped: the templates do that.
 */
export function toPlainText(text: string): string {
  return text.toWellFormed().replace(controlCharacters, '')
}

/** Returns plain text on one line. Cuts a text of over `maxLength` characters and adds "…". */
export function truncatePlainText(text: string, maxLength: number): string {
  const characters = [...toPlainText(text).replace(/\s+/g, ' ')]
  return characters.length > maxLength
    ? `${characters.slice(0, maxLength - 1).join('')}…`
    : characters.join('')
}
