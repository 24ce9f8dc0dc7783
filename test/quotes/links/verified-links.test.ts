// Which links count as verified: the same link with the same row. A restored database gives the ids
// of lost links to new ones.
import t from 'tap'
import { VerifiedLinks } from '../../../src/quotes/links/verified-links.ts'
import { openLink } from '../../support/shared-quote.ts'

const link = { ...openLink, tokenHash: 'first', contentHash: 'aa' }

t.test('a link with a changed hash is noticed, a new link with the same id is not', async (t) => {
  const verified = new VerifiedLinks()
  verified.add(link)
  t.ok(verified.has(link))
  t.notOk(verified.has({ ...link, rowVersion: '2' }))
  t.ok(verified.hadOtherHash({ ...link, contentHash: 'bb' }))
  const afterRestore = { ...link, tokenHash: 'second', contentHash: 'bb' }
  t.notOk(verified.hadOtherHash(afterRestore))
  t.notOk(verified.has(afterRestore))
})
