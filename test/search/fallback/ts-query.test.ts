// What is put into a tsquery: words and synonyms, which have only letters and digits.
import t from 'tap'
import { checkWord, toTsQuery, toWordTerm } from '../../../src/search/fallback/ts-query.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'

t.test('the words of every query have only letters and digits', async (t) => {
  for (const text of ["' & !x | (y):* <-> \\", '\\m[a]{2}', '½ ⑴ ﬁ', 'n\u0303 \u0301', 'Ⓐ-1']) {
    const { foldedWords } = parseQuery(text)
    t.same(foldedWords.map(checkWord), foldedWords, text)
  }
  t.same(parseQuery('\u0301').foldedWords, [], 'an accent that stands alone is no word')
})

t.test('a word or synonym with other characters is an error', async (t) => {
  t.equal(
    toTsQuery(['broca'], new Map([['broca', ['drill bit']]]), toWordTerm),
    "(('broca') | ('drill' <-> 'bit'))",
  )
  t.throws(() => toTsQuery(['a|b'], new Map(), toWordTerm), /other characters/)
  t.throws(() => toTsQuery([''], new Map(), toWordTerm), /other characters/)
  t.throws(() => toTsQuery(['a'], new Map([['a', ['b & c']]]), toWordTerm), /other characters/)
})
