// What the log says while the statistics of some requests cannot be computed.
import t from 'tap'
import { ComputationFailures } from '../../../src/stats/cache/computation-failures.ts'

t.test('other requests that succeed are no recovery', async (t) => {
  const texts: string[] = []
  const log = {
    error: (text: string) => texts.push(text),
    info: (text: string) => texts.push(text),
  }
  const failures = new ComputationFailures(log)
  failures.recordSuccess('by customer')
  t.same(texts, [])
  for (let round = 0; round < 3; round++) {
    failures.recordFailure('by customer', new Error('broken view'))
    failures.recordSuccess('by month')
  }
  t.same(texts, [
    'Statistics cannot be computed (broken view): requests get older ones or an error',
  ])
  failures.recordSuccess('by customer')
  t.same(texts.slice(1), ['Statistics can be computed again'])
  failures.recordFailure('by customer', new Error('broken view'))
  t.equal(texts.length, 3, 'the same cause after a recovery is logged again')
})
