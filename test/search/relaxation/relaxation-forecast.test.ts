// Forecasts from what was typed before whether a query will be relaxed.
import t from 'tap'
import { RelaxationForecast } from '../../../src/search/relaxation/relaxation-forecast.ts'

t.test('a text that continues another one probably has the same result', async (t) => {
  const forecast = new RelaxationForecast()
  t.equal(forecast.probablyNeedsRelaxation('bomba de agua'), true, 'nobody has begun to type it')
  forecast.record('bomba de', false)
  t.equal(forecast.probablyNeedsRelaxation('bomba de agua'), false)
  forecast.record('bomba de ag', true)
  t.equal(forecast.probablyNeedsRelaxation('bomba de agua'), true, 'the longest beginning counts')
  t.equal(forecast.probablyNeedsRelaxation('bomba de a'), false)
  forecast.record('bomba de agua', false)
  t.equal(forecast.probablyNeedsRelaxation('bomba de agua'), false, 'the text itself counts most')
  t.equal(
    forecast.probablyNeedsRelaxation('bomba de agua de mar y tierra'),
    true,
    'too many letters later',
  )
})

t.test('recent texts are remembered, and older ones are forgotten', async (t) => {
  const forecast = new RelaxationForecast()
  forecast.record('tubo de cobre', false)
  for (let number = 0; number < 1_900; number++) forecast.record(`pieza ${number}`, false)
  t.equal(forecast.probablyNeedsRelaxation('tubo de cobre'), false)
  for (let number = 0; number < 4_100; number++) forecast.record(`otra ${number}`, false)
  t.equal(forecast.probablyNeedsRelaxation('tubo de cobre'), true)
})
