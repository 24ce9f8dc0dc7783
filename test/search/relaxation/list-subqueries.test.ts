// The words, pairs and triples of words that a relaxed query requests, and their translations.
import t from 'tap'
import {
  listPairsOrWords,
  listSingleWords,
  listTranslations,
  listTriples,
} from '../../../src/search/relaxation/list-subqueries.ts'
import type { QueryWord } from '../../../src/search/relaxation/query-words.ts'

/** Returns the words of a query. A word in `counts` has that many products, any other a hundred. */
function toWords(text: string, counts: Record<string, number> = {}): QueryWord[] {
  return text.split(' ').map((word, position, { length }) => ({
    text: word,
    position,
    isLast: position === length - 1,
    productCount: counts[word] ?? 100,
    synonyms: [],
    translations: [],
  }))
}

const pairTexts = (words: QueryWord[], synonyms = new Map<string, string[]>()) =>
  listPairsOrWords(words, synonyms).map(({ text }) => text)

const tripleTexts = (...parameters: Parameters<typeof listTriples>) =>
  listTriples(...parameters).map(({ text }) => text)

t.test('of two words, each is requested with more hits instead of their pair', async (t) => {
  t.match(listPairsOrWords(toWords('a b'), new Map()), [
    { text: 'a', limit: 40 },
    { text: 'b', limit: 40 },
  ])
  t.match(listSingleWords(toWords('a b c'))[0], { text: 'a', limit: 15 })
})

t.test('a pair is fast if its last word is searched as typed', async (t) => {
  const isLastWordQuoted = listPairsOrWords(toWords('a b c', { a: 1 }), new Map()).map(
    (pair) => pair.isLastWordQuoted,
  )
  t.same(isLastWordQuoted, [true, true, false], 'a "b", "a" "c", "b" c')
})

t.test('frequent words are searched as typed, the last one also as a prefix', async (t) => {
  t.same(pairTexts(toWords('a b c')), ['"a" "b"', '"a" "c"', '"b" c'])
})

t.test('a rare word may have typos next to its neighbours', async (t) => {
  t.same(pairTexts(toWords('a b c', { a: 1 })), ['a "b"', '"a" "c"', '"b" c'])
})

t.test('an unknown word may have typos in every pair, and is the last of it', async (t) => {
  t.same(pairTexts(toWords('a b c', { a: 0 })), ['"b" a', '"c" a', '"b" c'])
})

t.test('of four words, six pairs are requested', async (t) => {
  const words = toWords('tornillo inoxidabel cabeza avellanada', { inoxidabel: 0 })
  t.same(pairTexts(words), [
    '"tornillo" inoxidabel',
    '"tornillo" "cabeza"',
    '"tornillo" "avellanada"',
    '"cabeza" inoxidabel',
    '"avellanada" inoxidabel',
    '"cabeza" avellanada',
  ])
})

t.test('words that have synonyms together are searched as a phrase', async (t) => {
  const synonyms = new Map([['a b', ['x']]])
  t.equal(pairTexts(toWords('a b c'), synonyms)[0], 'a b')
})

t.test('known words that are far apart are no pair', async (t) => {
  const text = 'a b c d e f'
  t.notOk(pairTexts(toWords(text)).includes('"a" "f"'))
  t.ok(pairTexts(toWords(text)).includes('"a" "e"'))
  t.ok(pairTexts(toWords(text, { a: 0 })).includes('"f" a'), 'unknown words are in every pair')
})

t.test(
  'triples are requested if each of their pairs is wanted, and there are four words',
  async (t) => {
    const always = () => true
    t.same(tripleTexts(toWords('a b c'), always), [])
    t.same(tripleTexts(toWords('a b c d'), always), [
      '"a" "b" "c"',
      '"a" "b" "d"',
      '"a" "c" "d"',
      '"b" "c" "d"',
    ])
    const withoutA = (word: QueryWord) => word.text !== 'a'
    t.same(tripleTexts(toWords('a b c d'), withoutA), ['"b" "c" "d"'])
    t.equal(tripleTexts(toWords('a b c d e f g h i j'), always).length, 10)
  },
)

/** Returns the words of a query. A word in `translations` has these translations. */
const toTranslatedWords = (text: string, translations: Record<string, string[]>) =>
  toWords(text).map((word) => ({ ...word, translations: translations[word.text] ?? [] }))

const translationTexts = (words: QueryWord[]) => listTranslations(words).map(({ text }) => text)

t.test('nothing is translated if no word has a translation', async (t) => {
  t.same(listTranslations(toWords('bosch pumps')), [])
})

t.test('of two words, each translation and the translated pair are requested', async (t) => {
  const words = toTranslatedWords('bosch pumps', { pumps: ['bombas', 'bombeos'] })
  t.same(translationTexts(words), ['bombas', 'bombeos', 'bosch bombas'])
})

t.test('of more words, the whole query is requested first, translated', async (t) => {
  const words = toTranslatedWords('bosch water pumps', { water: ['agua'], pumps: ['bombas'] })
  t.same(translationTexts(words), [
    'bosch agua bombas',
    'agua',
    'bombas',
    'bosch agua',
    'bosch bombas',
    'agua bombas',
  ])
})

t.test('a translation that two words share is requested once', async (t) => {
  const words = toTranslatedWords('pump pumps', { pump: ['bomba'], pumps: ['bomba'] })
  t.same(translationTexts(words), ['bomba', 'bomba bomba'])
})

t.test('at most eight translated words and eight translated pairs are requested', async (t) => {
  const letters = 'abcdefghij'.split('')
  const translations = Object.fromEntries(letters.map((letter) => [letter, [letter.repeat(2)]]))
  const texts = translationTexts(toTranslatedWords(letters.join(' '), translations))
  t.equal(texts.filter((text) => !text.includes(' ')).length, 8)
  t.equal(texts.filter((text) => text.split(' ').length === 2).length, 8)
  t.equal(texts[0], letters.map((letter) => letter.repeat(2)).join(' '))
})
