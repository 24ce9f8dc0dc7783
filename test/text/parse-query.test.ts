// Parsing the text of a query: words, codes, sizes, words with ñ, and what to highlight.
import t from 'tap'
import { parseQuery } from '../../src/text/parse-query.ts'

t.test('finds words, without the operators of the engine and with sizes in one form', async (t) => {
  t.match(parseQuery('"Taladro -percutor 18 voltios'), {
    text: '"Taladro -percutor 18 voltios',
    engineText: { text: ' Taladro percutor 18v', words: ['taladro', 'percutor', '18v'] },
    foldedWords: ['taladro', 'percutor', '18', 'voltios'],
    code: { isOnlyCode: false },
    isOnlySymbols: false,
    highlight: { sizes: ['18v'] },
  })
  t.same(parseQuery('tubo de 1/2 de cobre').engineText.significantWords, ['tubo', '1/2', 'cobre'])
  t.same(parseQuery('de la').engineText.significantWords, ['de', 'la'], 'only stop words')
  t.equal(
    parseQuery(Array.from({ length: 12 }, (_, n) => `w${n}`).join(' ')).engineText.words.length,
    10,
  )
})

t.test('the example in the comments of ParsedQuery holds', async (t) => {
  const { engineText, foldedWords, translations } = parseQuery('"Taladro" de 18 voltios')
  t.same(engineText, {
    text: ' Taladro  de 18v',
    words: ['taladro', 'de', '18v'],
    significantWords: ['taladro', '18v'],
  })
  t.same(foldedWords, ['taladro', 'de', '18', 'voltios'])
  t.ok(translations.get('taladro')?.includes('drill'))
})

t.test('recognises codes', async (t) => {
  t.match(parseQuery('AB-742-X'), {
    code: { isOnlyCode: true, skuKey: 'ab742x', partialCodeKey: 'ab742x' },
    highlight: { codes: ['ab742x', '742'] },
  })
  t.match(parseQuery('ab 742 x'), { code: { isOnlyCode: false, partialCodeKey: 'ab742x' } })
  t.match(parseQuery('18-volt'), { code: { isOnlyCode: false, partialCodeKey: undefined } })
  t.equal(parseQuery('N\u0303U-7').code.skuKey, 'ñu7')
  t.equal(parseQuery('日本-1').code.skuKey, '日本1')
  t.match(parseQuery('B-١'), { code: { skuKey: 'b', distinctSkuKey: '=b١' } })
  for (const text of ['AB-742-X', '日本-1', '*', '١', '😀'])
    t.equal(parseQuery(text).code.distinctSkuKey, undefined, `no other SKU has the key of ${text}`)
})

t.test('recognises texts without words', async (t) => {
  t.match(parseQuery('*'), {
    isOnlySymbols: true,
    engineText: { words: [] },
    code: { skuKey: '*' },
  })
  t.match(parseQuery(''), {
    isOnlySymbols: false,
    engineText: { words: [] },
    highlight: { words: new Set(), codes: [], sizes: [] },
  })
})

t.test('finds words with ñ, in either Unicode form', async (t) => {
  t.same(parseQuery('Peña n\u0303andu caña').enyeWords, ['peña', 'ñandu', 'caña'])
})
