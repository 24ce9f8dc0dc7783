// In which form a visitor gets an error: as a page or as JSON.
import t from 'tap'
import { createQuoteLink, revokeQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { findNewestLinkId } from '../../support/quotes/newest-link.ts'
import {
  getUnknownLinkPath,
  startServiceWithLink,
} from '../../support/service/service-with-link.ts'

t.test('errors are pages, unless the request is for JSON', async (t) => {
  const { app, db, url } = await startServiceWithLink(t)
  const closed = await createQuoteLink(db, { number: 'P-1' })
  await revokeQuoteLink(db, await findNewestLinkId({ db }))
  const cases: [string, { url: string; method?: 'POST' }, number][] = [
    ['unknown', { url: getUnknownLinkPath(1) }, 404],
    ['revoked', { url: `/quote/share/${closed}` }, 410],
    ['unknown format', { url: `${url}?format=x` }, 406],
    ['another method', { url, method: 'POST' }, 405],
    ['malformed path', { url: '/quote/share/%ff' }, 404],
  ]
  for (const [name, options, status] of cases)
    for (const [accept, type] of [
      [undefined, 'text/html; charset=utf-8'],
      ['*/*', 'text/html; charset=utf-8'],
      ['text/html,*/*;q=0.8', 'text/html; charset=utf-8'],
      ['application/pdf', 'text/html; charset=utf-8'],
      ['image/png', 'text/html; charset=utf-8'],
      ['application/json', 'application/problem+json; charset=utf-8'],
      ['application/problem+json', 'application/problem+json; charset=utf-8'],
    ]) {
      const headers = accept === undefined ? {} : { accept }
      const response = await app.inject({ ...options, headers })
      t.equal(response.statusCode, status, `${name} ${accept}`)
      t.equal(response.headers['content-type'], type, `${name} ${accept}`)
      t.equal(response.headers['referrer-policy'], 'no-referrer')
    }
  t.equal(
    (await app.inject(`${getUnknownLinkPath(1)}?format=json`)).headers['content-type'],
    'application/problem+json; charset=utf-8',
  )
})
