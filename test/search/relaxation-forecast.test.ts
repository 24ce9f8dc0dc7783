// Forecasts from what was typed before whether products have all the words of a text.
import t from 'tap'
import { RelaxationForecast } from '../../src/search/relaxation/relaxation-forecast.ts'

t.test('a text that continues another one probably has the same result', async (t) => {
  const forecast = new RelaxationForecast()
  t.equal(forecast.probablyHasAllWords('bomba de agua'), false, 'nobody has begun to type it')
  forecast.record('bomba de', true)
  t.equal(forecast.probablyHasAllWords('bomba de agua'), true)
  forecast.record('bomba de ag', false)
  t.equal(forecast.probablyHasAllWords('bomba de agua'), false, 'the longest beginning counts')
  t.equal(forecast.probablyHasAllWords('bomba de a'), true)
  forecast.record('bomba de agua', true)
  t.equal(forecast.probablyHasAllWords('bomba de agua'), true, 'the text itself counts most')
  t.equal(
    forecast.probablyHasAllWords('bomba de agua de mar y tierra'),
    false,
    'too many letters later',
  )
})

t.test('recent texts are remembered, and older ones are forgotten', async (t) => {
  const forecast = new RelaxationForecast()
  forecast.record('tubo de cobre', true)
  for (let number = 0; number < 1_900; number++) forecast.record(`pieza ${number}`, true)
  t.equal(forecast.probablyHasAllWords('tubo de cobre'), true)
  for (let number = 0; number < 4_100; number++) forecast.record(`otra ${number}`, true)
  t.equal(forecast.probablyHasAllWords('tubo de cobre'), false)
})
