// Which links count as verified: the same link with the same row. A restored database gives the ids
// of lost links to new ones.
import t from 'tap'
import type { OpenLink } from '../../src/quotes/links/read-link.ts'
import { VerifiedLinks } from '../../src/quotes/verified-links.ts'

const link: OpenLink = {
  state: 'open',
  shareId: '17',
  tokenHash: 'first',
  rowVersion: '1',
  status: 'sent',
  expiresAt: null,
  contentHash: 'aa',
  documentBytes: 2,
}

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
