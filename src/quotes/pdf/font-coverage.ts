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

// The offsets below are those of the OpenType specification, chapters "OpenType font file" (the
// directory of tables) and "cmap".

/** Reads the characters that map to a glyph, from the subtables of the formats 4 and 12. */
function readCharacterRanges(font: Buffer): Range[] {
  const cmap = findTable(font, 'cmap')
  const ranges: Range[] = []
  const count = cmap.readUInt16BE(2)
  const header = { bytes: 4, recordBytes: 8, subtableOffset: 4 }
  for (let index = 0; index < count; index += 1) {
    const record = header.bytes + index * header.recordBytes
    const subtable = cmap.subarray(cmap.readUInt32BE(record + header.subtableOffset))
    const format = subtable.readUInt16BE(0)
    if (format === 4) ranges.push(...readFormat4(subtable))
    else if (format === 12) ranges.push(...readFormat12(subtable))
  }
  return ranges
}

function findTable(font: Buffer, tag: string): Buffer {
  const count = font.readUInt16BE(4)
  const directory = { bytes: 12, recordBytes: 16, tableOffset: 8 }
  for (let index = 0; index < count; index += 1) {
    const record = directory.bytes + index * directory.recordBytes
    if (font.toString('latin1', record, record + tag.length) === tag)
      return font.subarray(font.readUInt32BE(record + directory.tableOffset))
  }
  throw new Error(`A font has no table ${tag}.`)
}

/**
 * Reads segments of 16-bit characters, which are four parallel arrays of 16-bit numbers after a
 * header of 14 bytes. A segment may contain characters without a glyph.
 */
function readFormat4(subtable: Buffer): Range[] {
  const arrayBytes = subtable.readUInt16BE(6)
  const ends = 14
  const starts = ends + arrayBytes + 2
  const deltas = starts + arrayBytes
  const offsets = deltas + arrayBytes
  const ranges: Range[] = []
  for (let segment = 0; segment < arrayBytes; segment += 2) {
    const first = subtable.readUInt16BE(starts + segment)
    const last = subtable.readUInt16BE(ends + segment)
    const delta = subtable.readUInt16BE(deltas + segment)
    const offset = subtable.readUInt16BE(offsets + segment)
    for (let code = first; code <= last && code !== 0xffff; code += 1) {
      // An offset counts from where it is stored.
      const position = offsets + segment + offset + (code - first) * 2
      const glyph = offset === 0 ? code : subtable.readUInt16BE(position)
      if (((glyph + delta) & 0xffff) !== 0 && glyph !== 0) ranges.push({ first: code, last: code })
    }
  }
  return ranges
}

/** Reads groups of characters that all have a glyph. */
function readFormat12(subtable: Buffer): Range[] {
  const count = subtable.readUInt32BE(12)
  const header = { bytes: 16, groupBytes: 12, lastOffset: 4 }
  return Array.from({ length: count }, (_, index) => {
    const group = header.bytes + index * header.groupBytes
    const last = subtable.readUInt32BE(group + header.lastOffset)
    return { first: subtable.readUInt32BE(group), last }
  })
}
