// The pairs and triples of words that a relaxed query requests.
import t from 'tap'
import type { QueryWord } from '../../../src/search/relaxation/query-words.ts'
import { listPairs, listTriples } from '../../../src/search/relaxation/subquery-texts.ts'

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
  listPairs(words, synonyms).map(({ text }) => text)

t.test('frequent words are searched as typed, the last one also as a prefix', async (t) => {
  t.same(pairTexts(toWords('a b c')), ['"a" "b"', '"a" "c"', '"b" c'])
})

t.test('a rare word may have typos next to its neighbours', async (t) => {
  t.same(pairTexts(toWords('a b c', { a: 1 })), ['a "b"', '"a" "c"', '"b" c'])
})

t.test('an unknown word may have typos in every pair, and is the last of it', async (t) => {
  t.same(pairTexts(toWords('a b c', { a: 0 })), ['"b" a', '"c" a', '"b" c'])
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
    t.same(listTriples(toWords('a b c'), always), [])
    t.same(listTriples(toWords('a b c d'), always), [
      '"a" "b" "c"',
      '"a" "b" "d"',
      '"a" "c" "d"',
      '"b" "c" "d"',
    ])
    const withoutA = (word: QueryWord) => word.text !== 'a'
    t.same(listTriples(toWords('a b c d'), withoutA), ['"b" "c" "d"'])
    t.equal(listTriples(toWords('a b c d e f g h i j'), always).length, 10)
  },
)
