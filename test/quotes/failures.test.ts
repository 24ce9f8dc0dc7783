// Which failures of a quote an operator learns of.
import t from 'tap'
import {
  type FailureReason,
  failureRules,
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
  'rendering_too_large',
  'starved',
]

t.test(
  'the log has failures of the service as errors, but not one for each rejection',
  async (t) => {
    const logged = reasons.filter((reason) => needsErrorLog(new QuoteFailure(reason)))
    t.same(logged.toSorted(), loggedAsErrors)
    t.equal(needsErrorLog(new Error('a defect')), true)
    const again = new QuoteFailure('altered', 'a message', { isAlreadyLogged: true })
    t.equal(needsErrorLog(again), false)
  },
)

t.test('a PDF also counts as failed if too many others wait', async (t) => {
  const counted = reasons.filter((reason) => isFailedPdf(new QuoteFailure(reason)))
  // No PDF is too large: that is a failure of pages and JSON.
  const ofPdfs = loggedAsErrors.filter((reason) => reason !== 'rendering_too_large')
  t.same(counted.toSorted(), [...ofPdfs, 'queue_full'].toSorted())
  t.equal(isFailedPdf(new Error('a defect')), true)
})
