// Which failures of a quote an operator learns of.
import t from 'tap'
import {
  type FailureReason,
  failureRules,
  HandledFailure,
  isFailedPdf,
  needsErrorLog,
  QuoteFailure,
} from '../../src/quotes/failures.ts'

const reasons = Object.keys(failureRules) as FailureReason[]
const loggedAsErrors: FailureReason[] = [
  'altered',
  'database_unreadable',
  'no_document',
  'process_unreachable',
  'rendering_failed',
]

t.test('failures of the service are logged as errors, and rejected requests are not', async (t) => {
  const logged = reasons.filter((reason) => needsErrorLog(new QuoteFailure(reason)))
  t.same(logged.toSorted(), loggedAsErrors)
  t.equal(needsErrorLog(new Error('a defect')), true)
  const isLogged = needsErrorLog(new HandledFailure('rendering_failed'))
  t.equal(isLogged, false, 'a failed rendering has been logged before requests get it')
})

t.test('only failures of the rendering count as failed PDFs', async (t) => {
  const counted = reasons.filter((reason) => isFailedPdf(new QuoteFailure(reason)))
  t.same(counted.toSorted(), ['process_unreachable', 'queue_full', 'rendering_failed'])
  t.equal(isFailedPdf(new Error('a defect')), true)
})
