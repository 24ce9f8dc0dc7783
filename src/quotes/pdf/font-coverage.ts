// Finds the characters that the PDF cannot show, or whose text would be wrong in its text layer.

/** A range of characters in the `cmap` table of a TrueType font. */
type Range = { first: number; last: number }

/**
 * Returns a function that returns the unsupported characters of a text: those that the fonts lack,
 * and combining marks without a precomposed character. Typst 0.13 would give each glyph of such a
 * cluster the text of the whole cluster, so the text layer of the PDF would be wrong.
 */
export function createUnsupportedCharacterFinder(fonts: Buffer[]): (text: string) => string[] {
  const covered = new Set<number>()
  for (const font of fonts)
    for (const { first, last } of readCharacterRanges(font))
      for (let code = first; code <= last; code += 1) covered.add(code)
  return (text) => [...new Set(text)].filter((character) => !isSupported(character, covered))
}

function isSupported(character: string, covered: Set<number>): boolean {
  if (covered.has(character.codePointAt(0) ?? 0)) return !/\p{M}/u.test(character)
  // White space and format characters, such as a zero-width space, need no glyph.
  return /[\s\p{Cf}]/u.test(character)
}

/** Reads the characters that map to a glyph, from the subtables of the formats 4 and 12. */
function readCharacterRanges(font: Buffer): Range[] {
  const cmap = findTable(font, 'cmap')
  const ranges: Range[] = []
  const count = cmap.readUInt16BE(2)
  for (let index = 0; index < count; index += 1) {
    const subtable = cmap.subarray(cmap.readUInt32BE(4 + index * 8 + 4))
    const format = subtable.readUInt16BE(0)
    if (format === 4) ranges.push(...readFormat4(subtable))
    else if (format === 12) ranges.push(...readFormat12(subtable))
  }
  return ranges
}

function findTable(font: Buffer, tag: string): Buffer {
  const count = font.readUInt16BE(4)
  for (let index = 0; index < count; index += 1) {
    const entry = 12 + index * 16
    if (font.toString('latin1', entry, entry + 4) === tag)
      return font.subarray(font.readUInt32BE(entry + 8))
  }
  throw new Error(`A font has no table ${tag}.`)
}

/** Segments of 16-bit characters. A segment may contain characters without a glyph. */
function readFormat4(subtable: Buffer): Range[] {
  const segments = subtable.readUInt16BE(6) / 2
  const ends = 14
  const starts = ends + segments * 2 + 2
  const deltas = starts + segments * 2
  const offsets = deltas + segments * 2
  const ranges: Range[] = []
  for (let segment = 0; segment < segments; segment += 1) {
    const first = subtable.readUInt16BE(starts + segment * 2)
    const last = subtable.readUInt16BE(ends + segment * 2)
    const delta = subtable.readUInt16BE(deltas + segment * 2)
    const offset = subtable.readUInt16BE(offsets + segment * 2)
    for (let code = first; code <= last && code !== 0xffff; code += 1) {
      const position = offsets + segment * 2 + offset + (code - first) * 2
      const glyph = offset === 0 ? code : subtable.readUInt16BE(position)
      if (((glyph + delta) & 0xffff) !== 0 && glyph !== 0) ranges.push({ first: code, last: code })
    }
  }
  return ranges
}

/** Groups of characters that all have a glyph. */
function readFormat12(subtable: Buffer): Range[] {
  const count = subtable.readUInt32BE(12)
  return Array.from({ length: count }, (_, group) => ({
    first: subtable.readUInt32BE(16 + group * 12),
    last: subtable.readUInt32BE(16 + group * 12 + 4),
  }))
}
