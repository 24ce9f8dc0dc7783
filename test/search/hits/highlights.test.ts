// Highlights of one hit: sorted ranges in UTF-16 code units that do not overlap.
import t from 'tap'
import { highlightByComparison, highlightEngineHit } from '../../../src/search/hits/highlights.ts'
import type { EngineHit } from '../../../src/search-engine/search-client.ts'
import { foldText } from '../../../src/text/accent-folding.ts'
import type { HighlightTerms } from '../../../src/text/parse-query.ts'
import { exampleHit } from '../../support/stub-engine.ts'

const toHit = (values: Partial<EngineHit>): EngineHit => ({
  ...exampleHit,
  sku: '*',
  name: '*',
  ...values,
})

const toTerms = ({
  words = [],
  codes = [],
  sizes = [],
}: {
  words?: string[]
  codes?: string[]
  sizes?: string[]
}): HighlightTerms => ({ words: new Set(words.map(foldText)), codes, sizes })

const compare = (values: Partial<EngineHit>, terms: Parameters<typeof toTerms>[0]) =>
  highlightByComparison(toHit(values), toTerms(terms))

t.test('by comparison: the longest beginning of each word', async (t) => {
  const words = ['cam', 'camion', 'rojo']
  t.same(compare({ name: 'Camión camisa azul', brand: 'Rojo' }, { words }), {
    name: [
      [0, 6],
      [7, 3],
    ],
    brand: [[0, 4]],
  })
  t.same(compare({ name: 'Un camión', category: null }, { words: ['amion'] }), {})
})

t.test('by comparison: characters that are not one code unit', async (t) => {
  t.same(compare({ name: '😀 Camión' }, { words: ['camion'] }), { name: [[3, 6]] })
  t.same(
    compare({ name: 'camio\u0301n' }, { words: ['camio'] }),
    { name: [[0, 6]] },
    'the accent belongs to its letter',
  )
  t.equal(foldText('한').length, 3)
  t.same(
    compare({ name: '한국어' }, { words: ['한국'] }),
    { name: [[0, 2]] },
    'one letter folds to several',
  )
})

t.test('overlapping ranges are merged', async (t) => {
  t.same(compare({ name: 'Taladro 18 V' }, { words: ['taladro', '18'], sizes: ['18v'] }), {
    name: [
      [0, 7],
      [8, 4],
    ],
  })
})

t.test('codes are found with the separators inside them', async (t) => {
  t.same(compare({ sku: 'AB-742-X' }, { codes: ['742x'] }), { sku: [[3, 5]] })
  t.same(compare({ sku: '😀-AB-1' }, { codes: ['ab1'] }), { sku: [[3, 4]] })
  t.same(compare({ sku: 'AB-742-X' }, { codes: ['99', '742'] }), { sku: [[3, 3]] })
  t.same(compare({ sku: '𝔸-742' }, { codes: ['742'] }), {}, 'positions in its key are unknown')
  t.same(compare({ hsCode: '820520' }, { codes: ['8205', '0520'] }), { hsCode: [[0, 4]] })
})

t.test('positions of the engine are bytes of UTF-8', async (t) => {
  const highlight = (name: string, positions: [start: number, length: number][], words: string[]) =>
    highlightEngineHit(
      {
        ...toHit({ name }),
        _matchesPosition: { name: positions.map(([start, length]) => ({ start, length })) },
      },
      toTerms({ words }),
    ).name
  t.same(highlight('Peña 😀 azul', [[11, 4]], ['azul']), [[8, 4]])
  t.same(highlight('Martillo', [[0, 7]], ['martilo']), [[0, 8]], 'a typo marks the whole word')
  t.same(highlight('Martillo', [[0, 5]], ['marti']), [[0, 5]], 'an exact beginning only itself')
  t.same(
    highlight(
      'abcdefgh xyz',
      [
        [9, 3],
        [2, 3],
        [0, 3],
      ],
      ['abc', 'cde', 'xyz'],
    ),
    [
      [0, 5],
      [9, 3],
    ],
    'sorted and merged',
  )
  t.same(highlight('Martillo', [[100, 5]], []), undefined, 'nothing beyond the value')
})
