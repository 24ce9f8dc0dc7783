// Which of many equal errors are logged.
import t from 'tap'
import { RepetitionFilter } from '../../../src/monitoring/log/failure-log.ts'

t.test('one error is logged for each key and interval, with the number left out', async (t) => {
  const interval = { ms: 60_000 }
  const filter = new RepetitionFilter(interval)
  t.equal(filter.recordError('a'), 0)
  t.equal(filter.recordError('a'), null)
  t.equal(filter.recordError('a'), null)
  t.equal(filter.recordError('b'), 2, 'the errors of another key')
  t.equal(filter.recordError('b'), null)
  interval.ms = 0
  t.equal(filter.recordError('b'), 1)
  t.equal(filter.recordError('a'), 0)
})

t.test('ten keys are logged in an interval', async (t) => {
  const interval = { ms: 60_000 }
  const filter = new RepetitionFilter(interval)
  const logged = Array.from({ length: 20 }, (_, n) => filter.recordError(`key ${n}`))
  t.same(logged, [...Array(10).fill(0), ...Array(10).fill(null)])
  interval.ms = 0
  t.equal(filter.recordError('key 20'), 10)
})
