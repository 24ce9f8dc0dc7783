// Forecasts from what was typed before whether a query will be relaxed.
import t from 'tap'
import { RelaxationForecast } from '../../../src/search/relaxation/relaxation-forecast.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'

function createForecast() {
  const forecast = new RelaxationForecast()
  return {
    record: (text: string, neededRelaxation: boolean) =>
      forecast.record(parseQuery(text), neededRelaxation),
    shouldCountEarly: (text: string) => forecast.shouldCountEarly(parseQuery(text)),
  }
}

t.test('a text that continues another one probably has the same result', async (t) => {
  const { record, shouldCountEarly } = createForecast()
  t.equal(shouldCountEarly('bomba de agua'), true, 'nobody has begun to type it')
  record('bomba de', false)
  t.equal(shouldCountEarly('bomba de agua'), false)
  record('bomba de ag', true)
  t.equal(shouldCountEarly('bomba de agua'), true, 'the longest beginning counts')
  t.equal(shouldCountEarly('bomba de a'), false)
  record('bomba de agua', false)
  t.equal(shouldCountEarly('bomba de agua'), false, 'the text itself counts most')
  t.equal(shouldCountEarly('bomba de agua de mar y tierra'), true, 'too many letters later')
})

t.test('a single word forecasts nothing, and two words are not counted early', async (t) => {
  const { record, shouldCountEarly } = createForecast()
  record('bomba', false)
  t.equal(shouldCountEarly('bomba de agua'), true)
  t.equal(shouldCountEarly('bomba agua'), false)
})

t.test('recent texts are remembered, and older ones are forgotten', async (t) => {
  const { record, shouldCountEarly } = createForecast()
  record('tubo de cobre', false)
  for (let number = 0; number < 1_900; number++) record(`pieza ${number}`, false)
  t.equal(shouldCountEarly('tubo de cobre'), false)
  for (let number = 0; number < 4_100; number++) record(`otra ${number}`, false)
  t.equal(shouldCountEarly('tubo de cobre'), true)
})
