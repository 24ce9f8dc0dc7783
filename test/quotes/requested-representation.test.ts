// Which representation a link returns: Accept, ?format=, ?lang= and Accept-Language. And in which
// form errors are.
import t from 'tap'
import { createQuoteLink, revokeQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { chooseErrorPageLanguage } from '../../src/quotes/requested-representation.ts'
import { findNewestLinkId } from '../support/quotes/newest-link.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { getUnknownLinkPath, startServiceWithLink } from '../support/service/service-with-link.ts'

waitLongForRenderings(t)

const types = {
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
  pdf: 'application/pdf',
  problem: 'application/problem+json; charset=utf-8',
}
const unknownUrl = getUnknownLinkPath(1)
const service = await startServiceWithLink(t)
const { app, db, url } = service
const get = (target: string, accept?: string) =>
  app.inject({ url: target, headers: accept === undefined ? {} : { accept } })

t.test('Accept and ?format= choose the format, and ?lang= the language', async (t) => {
  for (const [ending, accept, type, language = 'es'] of [
    ['', undefined, 'html'],
    ['', '', 'html'],
    ['', '*/*', 'html'],
    ['', 'text/html,application/xhtml+xml,*/*;q=0.8', 'html'],
    ['', 'application/json', 'json'],
    ['', 'application/*', 'json'],
    ['', 'application/pdf', 'pdf'],
    ['', 'text/html;q=0.5,application/pdf', 'pdf'],
    ['', 'text/html;q=0,*/*', 'json'],
    ['?format=html', 'image/png', 'html'],
    ['?format=json', 'image/png', 'json'],
    ['?format=pdf', 'image/png', 'pdf'],
    ['?format=PDF', undefined, 'pdf'],
    ['?format=Json', undefined, 'json'],
    ['?format=HTML', undefined, 'html'],
    // Of repeated parameters the first one counts, and others are ignored.
    ['?format=pdf&format=json', undefined, 'pdf'],
    ['?format=json&utm_source=mail&format=pdf&format=html', undefined, 'json'],
    ['?lang=en&lang=fr', undefined, 'html', 'en'],
    ['?lang=xx&lang=fr', undefined, 'html'],
    ['?lang=EN', undefined, 'html', 'en'],
    ['?lang=de-AT', undefined, 'html', 'de'],
    ['?lang=-en', undefined, 'html'],
  ] as const) {
    const name = `${ending} ${accept}`
    const response = await get(url + ending, accept)
    t.equal(response.headers['content-type'], types[type], name)
    t.equal(response.headers.vary, 'Accept, Accept-Language, Accept-Encoding')
    if (type === 'html') t.match(response.body, `<html lang="${language}"`, name)
    const headers = accept === undefined ? {} : { accept }
    const head = await app.inject({ method: 'HEAD', url: url + ending, headers })
    t.same([head.statusCode, head.body], [200, ''])
    for (const header of [
      ...['content-type', 'content-length', 'vary', 'cache-control', 'content-disposition'],
    ])
      t.equal(head.headers[header], response.headers[header], `HEAD ${name}: ${header}`)
  }
})

t.test('the punctuation after a link is no part of it', async (t) => {
  const punctuation = ['.', ')', ',', '/', '%20', ').', '%29', '%C2%BB', "'", ':', '%3E']
  for (const ending of [...punctuation, '/?lang=en'])
    t.equal((await get(url + ending)).statusCode, 200, ending)
  t.match((await get(`${url}).?format=json`)).headers['content-type'], /json/)
  for (const ending of ['x', '-', '/x', '.x', '%00', '%', '%FF', '/..', '/../x', '.'.repeat(40)])
    t.equal((await get(url + ending)).statusCode, 404, ending)
})

t.test('a PDF has a file name in the language', async (t) => {
  const pdf = await get(`${url}?format=pdf`)
  t.equal(pdf.rawPayload.subarray(0, 5).toString(), '%PDF-')
  t.equal(
    pdf.headers['content-disposition'],
    `inline; filename="Presupuesto-P-1.pdf"; filename*=UTF-8''Presupuesto-P-1.pdf`,
  )
  const english = await get(`${url}?format=pdf&lang=en`)
  t.match(english.headers['content-disposition'], /Quotation-P-1/)
})

t.test('errors are pages, unless the request is for JSON', async (t) => {
  const closed = await createQuoteLink(db, { number: 'P-1' })
  await revokeQuoteLink(db, await findNewestLinkId(service))
  const forms = [
    ...[undefined, '*/*', 'text/html,*/*;q=0.8', 'application/pdf', 'image/png'].map(
      (accept) => [accept, types.html] as const,
    ),
    ['application/json', types.problem] as const,
    ['application/problem+json', types.problem] as const,
  ]
  for (const [target, status, method = 'GET'] of [
    [unknownUrl, 404],
    [`${unknownUrl}?format=xml`, 404],
    [`${unknownUrl}?format=pdf`, 404],
    ['/quote/share/%ff', 404],
    [`/quote/share/${closed}`, 410],
    [`${url}?format=xml`, 406],
    [`${url}?format=`, 406],
    [`${url}?format=xml&format=json`, 406],
    [url, 405, 'POST'],
  ] as const)
    for (const [accept, type] of forms) {
      const headers = accept === undefined ? {} : { accept }
      const response = await app.inject({ method, url: target, headers })
      t.equal(response.statusCode, status, `${target} ${accept}`)
      t.equal(response.headers['content-type'], type, `${target} ${accept}`)
      t.equal(response.headers['referrer-policy'], 'no-referrer')
    }
  t.equal((await get(`${unknownUrl}?format=json`)).headers['content-type'], types.problem)
  const png = await get(url, 'image/png')
  t.equal(png.statusCode, 406)
  t.match(png.body, 'Formato no disponible')
})

t.test('an error page is in the language of the seller unless the visitor prefers another', (t) => {
  for (const [accepted, language] of [
    [undefined, 'de'],
    ['*', 'de'],
    ['xx, *;q=0.1', 'de'],
    ['xx', 'de'],
    ['', 'de'],
    ['fr, de;q=0.5', 'fr'],
    ['fr;q=0.5, it;q=0.9', 'it'],
    ['en-GB, de;q=0.9', 'en'],
    ['en;q=abc', 'de'],
    [`${'aa,'.repeat(2_000)}pt`, 'pt'],
  ] as const) {
    const headers = accepted === undefined ? {} : { 'accept-language': accepted }
    t.equal(chooseErrorPageLanguage({ headers, query: {} }, 'de'), language, `${accepted}`)
    t.equal(chooseErrorPageLanguage({ headers, query: { lang: 'es' } }, 'de'), 'es')
  }
  t.end()
})
