// Ends a text with a full stop.

/** Returns the text with one full stop at its end. Messages of the engine may have one already. */
export function toSentence(text: string): string {
  return text.replace(/\.?$/, '.')
}
