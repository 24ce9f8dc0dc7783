// Removes control characters from untrusted text, and characters that reorder its letters.

// C0 and C1 controls except tab and line breaks, and the bidirectional embeddings, overrides and
// isolates (U+202A to U+202E, U+2066 to U+2069). An override can show "cba" for "abc".
//
// These invisible characters stay, because texts in some scripts need them:
// - U+200E, U+200F and U+061C place punctuation in Hebrew and Arabic. Like a letter of these
//   scripts, they order the punctuation and numbers beside them. They cannot order other texts,
//   because the page isolates each text (<bdi>).
// - U+200B to U+200D say where a word may break, and which letters and emoji join.
const controlCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes controls
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Returns a text without these characters. Lone surrogates become U+FFFD. The text is not escaped:
 * the templates do that.
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
