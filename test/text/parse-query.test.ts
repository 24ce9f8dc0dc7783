// Parsing the text of a query: words, codes, sizes, words with ñ, and what to highlight.
import t from 'tap'
import { parseQuery } from '../../src/text/parse-query.ts'

t.test('finds words, without the operators of the engine and with sizes in one form', async (t) => {
  t.match(parseQuery('"Taladro -percutor 18 voltios'), {
    text: '"Taladro -percutor 18 voltios',
    engineText: ' Taladro percutor 18v',
    words: ['taladro', 'percutor', '18v'],
    foldedWords: ['taladro', 'percutor', '18', 'voltios'],
    isCode: false,
    hasNoWords: false,
    highlight: { sizes: ['18v'], isEmpty: false },
  })
  t.same(parseQuery('tubo de 1/2 de cobre').significantWords, ['tubo', '1/2', 'cobre'])
  t.same(parseQuery('de la').significantWords, ['de', 'la'], 'only stop words')
  t.equal(parseQuery(Array.from({ length: 12 }, (_, n) => `w${n}`).join(' ')).words.length, 10)
})

t.test('recognises codes', async (t) => {
  t.match(parseQuery('AB-742-X'), {
    isCode: true,
    skuKey: 'ab742x',
    separatedCodeKey: 'ab742x',
    highlight: { codes: ['ab742x', '742'] },
  })
  t.match(parseQuery('ab 742 x'), { isCode: false, separatedCodeKey: 'ab742x' })
  t.match(parseQuery('18-volt'), { isCode: false, separatedCodeKey: undefined })
  t.equal(parseQuery('N\u0303U-7').skuKey, 'ñu7')
  t.equal(parseQuery('日本-1').skuKey, '日本1')
  t.match(parseQuery('B-١'), { skuKey: 'b', wholeSkuKey: '=b١' })
  for (const text of ['AB-742-X', '日本-1', '*', '١', '😀'])
    t.equal(parseQuery(text).wholeSkuKey, undefined, `no other SKU has the key of ${text}`)
})

t.test('recognises texts without words', async (t) => {
  t.match(parseQuery('*'), { hasNoWords: true, words: [], skuKey: '*' })
  t.match(parseQuery(''), { hasNoWords: false, words: [], highlight: { isEmpty: true } })
})

t.test('finds words with ñ, in either Unicode form', async (t) => {
  t.same(parseQuery('Peña n\u0303andu caña').enyeWords, ['peña', 'ñandu', 'caña'])
})
