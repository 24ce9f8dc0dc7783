// Gives every character of a text the form in which texts are compared: lower case, without
// accents, and one form of each sign. Keeps the positions in the original text.

export type NormalText = {
  text: string
  /** Returns the position in the original text of a position in the normal one. */
  positionOf(index: number): number
}

/** Letters that have no decomposition, as PostgreSQL's unaccent writes them, and signs. */
const replacements = new Map(
  Object.entries({
    ß: 'ss',
    ẞ: 'ss',
    ł: 'l',
    đ: 'd',
    ð: 'd',
    þ: 'th',
    æ: 'ae',
    œ: 'oe',
    ħ: 'h',
    ı: 'i',
    ŀ: 'l',
    ŋ: 'n',
    ŧ: 't',
    ĸ: 'k',
    ƒ: 'f',
    ґ: 'г',
    ς: 'σ',
    ſ: 's',
    µ: 'μ',
    º: '°',
    '˚': '°',
    '×': 'x',
    '✕': 'x',
    '⨯': 'x',
    '∗': '*',
    '÷': '-',
    '−': '-',
    '⁄': '/',
    '∕': '/',
    '⌀': 'ø',
    '∅': 'ø',
    '“': '"',
    '”': '"',
    '„': '"',
    '″': '"',
    '«': ' ',
    '»': ' ',
    '’': "'",
    '‘': "'",
    '´': "'",
    '′': "'",
    '＇': "'",
    '™': ' ',
    '®': ' ',
    '©': ' ',
    '\u200b': ' ',
  }),
)
/** Characters that nobody sees: soft hyphen, joiners, direction marks. */
const invisible = /^\p{Cf}$/u
const keptSigns = /^[+<>$€£%°"#=~^|`*]$/
const asciiOnly = /^[\0-\x7f]*$/
const maxCachedCharacters = 5_000
const cache = new Map<string, string>()

/** Returns the normal form of a text. */
export function normalizeText(original: string): NormalText {
  if (asciiOnly.test(original))
    return { text: unifySigns(original.toLowerCase()), positionOf: (index) => index }
  let text = ''
  const positions: number[] = []
  let position = 0
  for (const character of original) {
    let folded = foldCharacter(character)
    // "2½" is "2 1/2".
    if (folded.length > 1 && folded.includes('/') && /\d$/.test(text)) folded = ` ${folded}`
    text += folded
    for (let unit = 0; unit < folded.length; unit++) positions.push(position)
    position += character.length
  }
  positions.push(position)
  return { text: unifySigns(text), positionOf: (index) => positions[index] ?? position }
}

function foldCharacter(character: string): string {
  const known = cache.get(character)
  if (known !== undefined) return known
  const folded = computeFold(character)
  if (cache.size < maxCachedCharacters) cache.set(character, folded)
  return folded
}

function computeFold(character: string): string {
  const replacement = replacements.get(character)
  if (replacement !== undefined) return replacement
  if (invisible.test(character)) return ''
  if (/[\p{Z}\p{Cc}]/u.test(character)) return ' '
  if (/\p{Pd}/u.test(character)) return '-'
  const base = character.normalize('NFKC').normalize('NFD').replace(/\p{M}/gu, '')
  const letters = [...base.normalize('NFC').toLowerCase().replace(/\p{M}/gu, '')]
  return letters.map(foldBase).join('')
}

function foldBase(letter: string): string {
  const replacement = replacements.get(letter)
  if (replacement !== undefined) return replacement
  if (/\p{S}/u.test(letter) && !keptSigns.test(letter)) return ' '
  // Katakana becomes hiragana.
  return /[\u30a1-\u30f6]/.test(letter) ? String.fromCharCode(letter.charCodeAt(0) - 0x60) : letter
}

/** Unifies signs that depend on their neighbours. Keeps the length. */
function unifySigns(text: string): string {
  return text
    .replace(/''/g, '" ')
    .replace(/(?<=\d\s?)\*(?=\s?[\d.,])/g, 'x')
    .replace(/(?<!\p{L})ø(?=\s*\d)/gu, ' ')
    .replaceAll('ø', 'o')
}
