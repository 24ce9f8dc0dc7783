// How much the words of a relaxed query weigh: rare ones more, but less than two frequent ones.
import t from 'tap'
import { weighWord } from '../../../src/search/relaxation/word-weights.ts'

t.test('rarer words weigh more', async (t) => {
  const weights = [0, 1, 2, 100, 10_000, 1_000_000].map(weighWord)
  t.same(weights.slice(0, 2), [1, 1], 'a word that nothing matches weighs like one of one product')
  t.same(
    weights,
    weights.toSorted((a, b) => b - a),
  )
})

t.test('two frequent words together count more than a rare one', async (t) => {
  t.ok(2 * weighWord(1_000_000) > weighWord(1))
})
