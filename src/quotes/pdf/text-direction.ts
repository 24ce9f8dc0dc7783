// Marks the lines of a text that are written from right to left, for the PDF. A line has the
// direction of its first strong character, as browsers choose it for <bdi> on the page.
import createBidi, { type Bidi } from 'bidi-js'

// The types of the package describe an ES module, but Node loads its CommonJS module.
const bidi = (createBidi as unknown as () => Bidi)()

// RIGHT-TO-LEFT ISOLATE, POP DIRECTIONAL ISOLATE and LEFT-TO-RIGHT ISOLATE. No text of a quote
// contains them, because toPlainText removes them. pdf-template.typ replaces them.
const rightToLeftStart = '\u2067'
const rightToLeftEnd = '\u2069'
const bracketMark = '\u2066'

// Most texts need no search in the tables of the library. All right-to-left scripts are here.
const mayBeRightToLeft =
  /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Returns the text with each line between isolates that is written from right to left, and with a
 * mark before each bracket that is mirrored.
 */
export function markRightToLeftLines(text: string): string {
  if (!mayBeRightToLeft.test(text)) return text
  return text.replace(/[^\r\n]+/g, (line) =>
    isRightToLeft(line)
      ? rightToLeftStart + markBrackets(line, 'rtl') + rightToLeftEnd
      : markBrackets(line, 'ltr'),
  )
}

/** Returns whether a text contains any of these marks. */
export function hasDirectionMarks(text: string): boolean {
  return text.includes(rightToLeftStart) || text.includes(bracketMark)
}

/** Returns whether the first strong character is a right-to-left one (UAX 9, rules P2 and P3). */
export function isRightToLeft(line: string): boolean {
  for (const character of line) {
    const type = bidi.getBidiCharTypeName(character)
    if (type === 'L') return false
    if (type === 'R' || type === 'AL') return true
  }
  return false
}

/**
 * A mirrored "(" is the glyph of ")". Typst stores one text for each glyph of a font, so the PDF
 * would have wrong brackets in other texts. The template takes mirrored ones from another font.
 */
function markBrackets(line: string, direction: 'ltr' | 'rtl'): string {
  const { levels } = bidi.getEmbeddingLevels(line, direction)
  return line.replace(/[\p{P}\p{S}]/gu, (character, index: number) =>
    (levels[index] ?? 0) % 2 === 1 && bidi.getMirroredCharacter(character) !== null
      ? bracketMark + character
      : character,
  )
}
