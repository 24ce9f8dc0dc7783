// Which of many equal errors are logged.
import t from 'tap'
import { RepetitionFilter } from '../../../src/monitoring/log/repetition-filter.ts'

t.test('one error is logged for each key and interval, with the number left out', async (t) => {
  const interval = { ms: 60_000 }
  const filter = new RepetitionFilter(interval)
  t.equal(filter.countLeftOut('a'), 0)
  t.equal(filter.countLeftOut('a'), null)
  t.equal(filter.countLeftOut('a'), null)
  t.equal(filter.countLeftOut('b'), 2, 'the errors of another key')
  t.equal(filter.countLeftOut('b'), null)
  interval.ms = 0
  t.equal(filter.countLeftOut('b'), 1)
  t.equal(filter.countLeftOut('a'), 0)
})

t.test('ten keys are logged in an interval', async (t) => {
  const interval = { ms: 60_000 }
  const filter = new RepetitionFilter(interval)
  const logged = Array.from({ length: 20 }, (_, n) => filter.countLeftOut(`key ${n}`))
  t.same(logged, [...Array(10).fill(0), ...Array(10).fill(null)])
  interval.ms = 0
  t.equal(filter.countLeftOut('key 20'), 10)
})
