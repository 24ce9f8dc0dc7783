// Splits the text of a product or a query into words and codes. Both texts pass through the same
// functions, so whatever way a code is written, it gets the same keys:
//
//   "IP65", "IP 65", "ip-65"          ip65
//   "M8x45", "M8 × 45", "M8*45"       m8x45, and m8, 8x45 for a product
//   "2,5 mm²", "2.50mm2"              2.5mm2, and 2.5, 2.5mm for a product
//   '1 1/2"', '1½"', '1.5"'           1+1/2in, and 1+1/2, 1/2 for a product
//
// docs/architecture.md has the table of rules, which test/text/tokens.test.ts executes.
import { normalizeText } from './normalize.ts'
import { type Amount, readAmounts } from './numbers.ts'
import { listNumberForms } from './plurals.ts'

/**
 * - `word`: letters only.
 * - `number`: a number, perhaps with a unit.
 * - `size`: dimensions, threads, fractions and ranges of numbers.
 * - `code`: letters and digits, or digits with separators.
 */
export type TokenKind = 'word' | 'number' | 'size' | 'code'

/** A part of a query. */
export type Token = {
  kind: TokenKind
  /** The folded word, or the first of the keys. */
  text: string
  /** A product with one of these has the token. Empty for a word. The first is the most exact. */
  keys: string[]
  /** Keys of nearly the same: the number without a unit, or the dimensions turned around. */
  looseKeys: string[]
  /** The position in the original text, in UTF-16 code units. */
  start: number
  end: number
}

/** A word or a key of a product, and where it stands in the original text. */
export type Place = { text: string; start: number; end: number }

/** `isPart`: the key of a part, such as "1/2" of "1 1/2". */
export type CodePlace = Place & { isPart: boolean }

/** What a text of a product contains. */
export type TextParts = {
  /** The words in their order, each with its position. */
  words: Place[]
  /** Words that are also written together or apart, or with "ue" for "ü". */
  otherWords: string[]
  /** The keys of its codes, sizes and numbers. */
  codes: CodePlace[]
}

/** Letters and digits that stand together or are joined by signs. */
const joinedText = /[\p{L}\d]+(?:(?:[-._/+'’·&]|(?<=\d),(?=\d))[\p{L}\d]+)*/gu
const partPattern = /[\p{L}\d]+/gu
const atomPattern = /\d+|\p{L}+/gu
/** Scripts without blanks between words: every character is a word. */
const wordWithoutBlanks =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]/u
const runWithoutBlanks = new RegExp(`${wordWithoutBlanks.source}+`, 'gu')
/** A letter and signs that belong to it: C++, C#, A+. */
const letterWithSigns = /(?<![\p{L}\d])\p{L}[+#]+(?![\p{L}\d])/gu
/** "nº 80", "No. 240", "Ø 40", "diam. 40": the number says it all. */
const numberSign =
  /(?<![\p{L}\d])(?:n\s?°|n\.\s?°|n[oº]?\.?|num\.?|diametro|diam\.?|ref\.?)\s*(?=\d)/gu
/** Longer words before or after a blank are no part of a code. */
const maxLettersInSplitCode = 4
const maxSplitCodeLength = 14
const maxPartsOfCode = 4
const minLettersOfSound = 5
const minLettersOfCompound = 12
const minLettersInCompound = 5
/** The keys of a longer text are not listed. */
const maxCodes = 200

/** Splits a query into its tokens, in their order. */
export function tokenize(text: string): Token[] {
  const normal = normalizeText(text)
  const clean = normal.text.replace(numberSign, (sign) => ' '.repeat(sign.length))
  let tokens: Token[] = []
  const isFree = new Array<boolean>(clean.length).fill(true)
  const add = (start: number, end: number, token: Omit<Token, 'start' | 'end'>) => {
    isFree.fill(false, start, end)
    tokens.push({ ...token, start: normal.positionOf(start), end: normal.positionOf(end) })
  }
  for (const { index, 0: sign } of clean.matchAll(letterWithSigns))
    add(index, index + sign.length, toToken('code', sign))
  for (const amount of readAmounts(clean)) {
    const { start, end, isSize, keys, looseKeys } = amount
    const glued = gluedKey(clean.slice(start, end))
    const isCode = amount.mayBeCode && /\p{L}/u.test(glued)
    const allKeys = [...new Set(isCode ? [...keys, glued] : keys)]
    const kind = isSize ? 'size' : 'number'
    add(start, end, { kind, text: keys[0] ?? '', keys: allKeys, looseKeys })
  }
  for (const { index, 0: run } of clean.matchAll(runWithoutBlanks))
    for (const { text: pair, start, end } of listPairs(run, index))
      add(start, end, toToken('code', pair))
  for (const { start, end, text: joined } of listJoined(clean)) {
    if (!isFree[start]) continue
    if (/\d/.test(joined)) {
      // The numbers in it are parts of the code.
      const [from, to] = [normal.positionOf(start), normal.positionOf(end)]
      tokens = tokens.filter((token) => token.start < from || token.end > to)
      add(start, end, toToken('code', gluedKey(joined)))
    } else
      for (const word of toQueryWords(joined, start))
        add(word.start, word.end, toToken('word', word.text))
  }
  return tokens.toSorted((a, b) => a.start - b.start || a.end - b.end)
}

const toToken = (kind: 'word' | 'code', text: string) => ({
  kind,
  text,
  keys: kind === 'word' ? [] : [text],
  looseKeys: [],
})

/** Lists the words and keys of a text of a product. */
export function readText(text: string): TextParts {
  const normal = normalizeText(text)
  const clean = normal.text.replace(numberSign, (sign) => ' '.repeat(sign.length))
  const words: Place[] = []
  const otherWords = new Set<string>()
  const codes = new Map<string, CodePlace>()
  const place = (key: string, start: number, end: number): Place => ({
    text: key,
    start: normal.positionOf(start),
    end: normal.positionOf(end),
  })
  const addCode = (key: string, start: number, end: number, isPart = false) => {
    if (codes.size < maxCodes && (codes.get(key)?.isPart ?? true))
      codes.set(key, { ...place(key, start, end), isPart })
  }
  const amounts = readAmounts(clean)
  for (const { start, end, keys, bareKeys, partKeys } of amounts) {
    for (const key of [...keys, ...bareKeys]) addCode(key, start, end)
    for (const key of partKeys) addCode(key, start, end, true)
  }
  const isIn = (list: Amount[], position: number) =>
    list.some(({ start, end }) => start <= position && position < end)
  for (const { index, 0: sign } of clean.matchAll(letterWithSigns))
    addCode(sign, index, index + sign.length)
  for (const { start, text: joined } of listJoined(clean)) {
    for (const word of listAtoms(joined, start))
      if (isIn(amounts, word.start)) continue
      else if (/\d/.test(word.text)) addCode(word.text, word.start, word.end, true)
      else words.push(place(word.text, word.start, word.end))
    if (!/\d/.test(joined) && /[^\p{L}]/u.test(joined)) otherWords.add(gluedKey(joined))
  }
  for (const { index, 0: decimal } of clean.matchAll(/(?<=\p{L})\d+[.,]\d+/gu))
    addCode(decimal.replace(',', '.'), index, index + decimal.length)
  for (const code of listCodes(clean, amounts)) addCode(code.text, code.start, code.end)
  for (const { index, 0: run } of clean.matchAll(runWithoutBlanks))
    for (const pair of listPairs(run, index)) addCode(pair.text, pair.start, pair.end)
  for (const word of [
    ...listUmlautForms(text),
    ...words.flatMap(listCompoundEndings),
    ...words.map((word) => toSound(word.text)).filter((sound, n) => sound !== words[n]?.text),
  ])
    otherWords.add(word)
  return { words, otherWords: [...otherWords], codes: [...codes.values()] }
}

/** Returns the words of a text in other numbers, such as "luces" for "luz". */
export function listOtherNumbers(words: string[]): string[] {
  const forms = words.flatMap((word) => listNumberForms(word).slice(1))
  return [...new Set(forms)]
}

/**
 * Returns the text as the engine searches it: folded words and codes, separated by blanks. A
 * character of a script without blanks is a word.
 */
export function toSearchedText(text: string): string {
  return [...normalizeText(text).text.matchAll(partPattern)]
    .map(({ 0: part }) => (wordWithoutBlanks.test(part) ? [...part].join(' ') : part))
    .join(' ')
}

/** Returns letters and digits without what separates them. */
export function gluedKey(text: string): string {
  return text.replace(/[^\p{L}\d]/gu, '')
}

/** Returns the text with O as 0, I and L as 1, and S as 5, which are taken for each other. */
export function toLookAlike(key: string): string {
  return key.replace(/[oils]/g, (letter) => ({ o: '0', i: '1', l: '1', s: '5' })[letter] ?? letter)
}

/**
 * Returns a folded word as it sounds in Spanish, where b and v, ll and y, and s, z and soft c sound
 * alike and h is silent: "ormigon", "balbula".
 */
export function toSound(word: string): string {
  if (word.length < minLettersOfSound || !/^[a-z]+$/.test(word)) return word
  return word
    .replace(/v/g, 'b')
    .replace(/(?<!c)h/g, '')
    .replace(/ll/g, 'y')
    .replace(/z|c(?=[ei])/g, 's')
}

const toPlace = ({ 0: text, index }: RegExpExecArray, offset: number): Place => ({
  text,
  start: offset + index,
  end: offset + index + text.length,
})

/** Splits joined text at a part of many letters: "tornillo-m8" is a word and a code. */
function listJoined(text: string): Place[] {
  return [...text.matchAll(joinedText)].flatMap(({ index, 0: joined }) => {
    const parts = [...joined.matchAll(partPattern)]
    const isLong = (part: string) => part.length > maxLettersInSplitCode + 1 && !/\d/.test(part)
    const whole = { text: joined, start: index, end: index + joined.length }
    if (!/\d/.test(joined) || !parts.some(({ 0: part }) => isLong(part))) return [whole]
    return parts.map((part) => toPlace(part, index))
  })
}

/**
 * Returns the maximal runs of letters or digits, and every character of a script without blanks.
 */
function listAtoms(text: string, offset: number): Place[] {
  return [...text.matchAll(atomPattern)].flatMap(({ 0: atom, index }) => {
    const start = offset + index
    if (!wordWithoutBlanks.test(atom)) return [{ text: atom, start, end: start + atom.length }]
    let position = start
    return [...atom].map((character) => {
      const from = position
      position += character.length
      return { text: character, start: from, end: position }
    })
  })
}

/**
 * Returns the words of joined letters. A single letter before an apostrophe is an article. Other
 * single letters belong to an abbreviation, which is searched without its points.
 */
function toQueryWords(joined: string, offset: number): Place[] {
  const parts = listAtoms(joined, offset)
  if (parts.length < 2 || wordWithoutBlanks.test(joined)) return parts
  if (/^\p{L}['’]/u.test(joined)) return parts.slice(1)
  if (parts.every((part) => part.text.length > 1)) return parts
  return [{ text: gluedKey(joined), start: offset, end: offset + joined.length }]
}

/**
 * Returns the keys of codes in a text: parts that have letters and digits, and neighbours that may
 * be one code together, such as "S 235 JR".
 */
function listCodes(text: string, amounts: Amount[]): Place[] {
  const found: Place[] = []
  const findAmount = (position: number) =>
    amounts.find(({ start, end }) => start <= position && position < end)
  const isInSize = (position: number) => findAmount(position)?.isSize ?? false
  const parts = [...text.matchAll(partPattern)].map((part) => toPlace(part, 0))
  for (const [first, part] of parts.entries()) {
    // "5mm" is no part of "12,5mm".
    if ((findAmount(part.start)?.start ?? part.start) < part.start) continue
    found.push(...listPartsOfCode(part))
    let key = part.text
    let isSplit = false
    for (let last = first + 1; last < Math.min(parts.length, first + maxPartsOfCode); last++) {
      const [before, next] = [parts[last - 1], parts[last]]
      if (!before || !next) break
      const between = text.slice(before.end, next.start)
      if (!/^(?: |[-._/+,&] ?)$/.test(between)) break
      if (between.includes(' ') && (isInSize(before.start) || isInSize(next.start))) break
      isSplit ||= between.includes(' ')
      key += next.text
      if (key.length > maxSplitCodeLength && isSplit) break
      if (isSplit && parts.slice(first, last + 1).some(isLongWord)) break
      if (/\d/.test(key)) found.push({ text: key, start: part.start, end: next.end })
    }
  }
  return found
}

const isLongWord = ({ text }: Place) => text.length > maxLettersInSplitCode && !/\d/.test(text)

/**
 * Returns the part, if it has letters and digits, and what begins or ends at one of its letters.
 */
function listPartsOfCode(part: Place): Place[] {
  if (!/\d/.test(part.text) || !/\p{L}/u.test(part.text)) return []
  const atoms = listAtoms(part.text, part.start)
  if (atoms.length > 8) return [part]
  const found: Place[] = []
  for (const [first, { start }] of atoms.entries())
    for (const { end } of atoms.slice(first + 1))
      found.push({ text: part.text.slice(start - part.start, end - part.start), start, end })
  return found
}

/** Returns every two neighbouring characters, which is how these scripts are searched. */
function listPairs(run: string, offset: number): Place[] {
  const characters = listAtoms(run, offset)
  const [first] = characters
  if (characters.length === 1 && first) return [first]
  return characters.slice(1).map((second, index) => {
    const { text, start } = characters[index] ?? second
    return { text: text + second.text, start, end: second.end }
  })
}

/** Returns how a long word may end as a word of its own: "schlussel" of "schraubenschlussel". */
function listCompoundEndings({ text }: Place): string[] {
  if (text.length < minLettersOfCompound || !/^\p{L}+$/u.test(text)) return []
  const count = text.length - 2 * minLettersInCompound + 1
  return Array.from({ length: count }, (_, index) => text.slice(minLettersInCompound + index))
}

/** Returns the words with ä, ö, ü or å as they are written without these letters. */
function listUmlautForms(text: string): string[] {
  const pairs: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa' }
  const words =
    text
      .normalize('NFC')
      .toLowerCase()
      .match(/\p{L}+/gu) ?? []
  return words
    .filter((word) => /[äöüå]/.test(word))
    .map((word) => normalizeText(word.replace(/[äöüå]/g, (letter) => pairs[letter] ?? letter)).text)
}
