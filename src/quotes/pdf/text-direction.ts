// Marks for the PDF which lines of a text are written from right to left. The first strong
// character decides the direction of a line, as in browsers for <bdi> on the page.
import createBidi, { type Bidi } from 'bidi-js'

// The types of the package describe an ES module, but Node loads its CommonJS module.
const bidi = (createBidi as unknown as () => Bidi)()

// RIGHT-TO-LEFT ISOLATE, POP DIRECTIONAL ISOLATE and LEFT-TO-RIGHT ISOLATE. No text of a quote
// contains them, because toPlainText removes them. pdf-template.typ replaces them.
const rightToLeftStart = '\u2067'
const rightToLeftEnd = '\u2069'
const bracketMark = '\u2066'

// The ranges of all right-to-left scripts. Other texts need no search in the library's tables.
const mayBeRightToLeft =
  /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Returns the text with isolates around each line that is written from right to left, and a mark
 * before each mirrored bracket.
 */
export function markRightToLeftLines(text: string): string {
  if (!mayBeRightToLeft.test(text)) return text
  return text.replace(/[^\r\n]+/g, (line) =>
    isRightToLeft(line)
      ? rightToLeftStart + markBrackets(line, 'rtl') + rightToLeftEnd
      : markBrackets(line, 'ltr'),
  )
}

/** Returns whether markRightToLeftLines has put marks into a text. */
export function hasDirectionMarks(text: string): boolean {
  return text.includes(rightToLeftStart) || text.includes(bracketMark)
}

/** Returns whether the first strong character is right-to-left (UAX 9, rules P2 and P3). */
export function isRightToLeft(line: string): boolean {
  for (const character of line) {
    const type = bidi.getBidiCharTypeName(character)
    if (type === 'L') return false
    if (type === 'R' || type === 'AL') return true
  }
  return false
}

/**
 * Puts a mark before each mirrored bracket, and the template sets marked brackets in another font.
 * A mirrored "(" has the glyph of ")", and Typst stores only one text for each glyph of a font.
 * Without the other font, brackets elsewhere in the PDF would have the wrong text.
 */
function markBrackets(line: string, direction: 'ltr' | 'rtl'): string {
  const { levels } = bidi.getEmbeddingLevels(line, direction)
  return line.replace(/[\p{P}\p{S}]/gu, (character, index: number) =>
    (levels[index] ?? 0) % 2 === 1 && bidi.getMirroredCharacter(character) !== null
      ? bracketMark + character
      : character,
  )
}
