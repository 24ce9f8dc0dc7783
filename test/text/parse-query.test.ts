// Parsing the text of a query: words, codes, SKUs beside quantities, and words with ñ.
import t from 'tap'
import { parseQuery } from '../../src/text/parse-query.ts'

const tokensOf = (text: string) => parseQuery(text).tokens.map((token) => token.text)

t.test('finds the words and codes that count', async (t) => {
  t.same(tokensOf('"Taladro" de 18 voltios'), ['taladro', '18v'])
  t.same(tokensOf('tubo de 1/2 de cobre'), ['tubo', '1/2', 'cobre'])
  t.same(tokensOf('de la'), ['de', 'la'], 'only stop words')
  t.same(tokensOf('*'), [])
  t.same(tokensOf(''), [])
  t.ok(parseQuery('taladro').tokens[0]?.translations.includes('drill'))
})

t.test('recognises codes', async (t) => {
  t.match(parseQuery('AB-742-X'), { partialCodeKey: 'ab742x' })
  t.match(parseQuery('ab 742 x'), { partialCodeKey: 'ab742x' })
  t.same(parseQuery('N\u0303U-7').skuKeys, ['ñu7', 'nu7'])
  t.equal(parseQuery('B-½').skuKeys[0], 'b')
  t.ok(parseQuery('1 1/2').isAmount)
})

t.test('finds words with ñ, in either Unicode form', async (t) => {
  t.same(parseQuery('Peña n\u0303andu caña').enyeWords, ['peña', 'ñandu', 'caña'])
})

/** An order line, the key of the SKU that it may have first, and what is ignored. */
const orderLines: [line: string, key: string, ignored: string][] = [
  ['85123A x 10', '85123a', 'x 10'],
  ['85123A x10', '85123a', 'x10'],
  ['10 x 47566', '47566', '10 x'],
  ['10x TOR-M8X40-Z', 'torm8x40z', '10x'],
  ['ABC/12345 10 uds', 'abc12345', '10 uds'],
  ['22423 5 m', '22423', '5 m'],
  ['0 445 110 183 12,50 €', '0445110183', '12,50 €'],
  ['22423 a 12,50', '22423', 'a 12,50'],
  ['22423 (10)', '22423', '(10)'],
  ['85123A: 10', '85123a', '10'],
  ['ref. 85123A', '85123a', 'ref.'],
  ['85123A *10', '85123a', '*10'],
]

t.test('finds SKUs beside quantities, units and prices', async (t) => {
  for (const [line, key, ignored] of orderLines) {
    const guesses = parseQuery(line).orderLines.flat()
    t.ok(
      guesses.some((guess) => guess.keys.includes(key) && guess.ignored === ignored),
      line,
    )
  }
  for (const text of ['2 1/2', 'filtro 311992D3', 'M8 x 45 inox', '10 uds'])
    t.notOk(
      parseQuery(text)
        .orderLines.flat()
        .some(({ keys }) => keys.includes('212')),
      text,
    )
  const pasted = parseQuery('22423\t10\t4,50\n47566\t2\t1,00').orderLines
  t.same(
    pasted
      .flat()
      .map(({ keys: [key] }) => key)
      .filter((key) => key?.length === 5),
    ['22423', '47566'],
  )
})
