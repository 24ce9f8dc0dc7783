// Guesses from what was typed before whether products have all the words of a text.
import t from 'tap'
import { WordMatches } from '../../src/search/relaxation/word-matches.ts'

t.test('a text that continues another one probably has the same result', async (t) => {
  const matches = new WordMatches()
  t.equal(matches.guess('bomba de agua'), false, 'nobody has begun to type it')
  matches.record('bomba de', true)
  t.equal(matches.guess('bomba de agua'), true)
  matches.record('bomba de ag', false)
  t.equal(matches.guess('bomba de agua'), false, 'the longest beginning counts')
  t.equal(matches.guess('bomba de a'), true)
  matches.record('bomba de agua', true)
  t.equal(matches.guess('bomba de agua'), true, 'the text itself counts most')
  t.equal(matches.guess('bomba de agua de mar y tierra'), false, 'too many letters later')
})

t.test('recent texts are remembered, and older ones are forgotten', async (t) => {
  const matches = new WordMatches()
  matches.record('tubo de cobre', true)
  for (let number = 0; number < 1_900; number++) matches.record(`pieza ${number}`, true)
  t.equal(matches.guess('tubo de cobre'), true)
  for (let number = 0; number < 4_100; number++) matches.record(`otra ${number}`, true)
  t.equal(matches.guess('tubo de cobre'), false)
})
