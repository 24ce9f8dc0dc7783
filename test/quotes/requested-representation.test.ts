// Which format and language a quote link returns: Accept, ?format= and ?lang=.
import t from 'tap'
import { chooseErrorPageLanguage } from '../../src/quotes/requested-representation.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { startServiceWithLink } from '../support/service/service-with-link.ts'

waitLongForRenderings(t)

const types = {
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
  pdf: 'application/pdf',
}
const formats = ['html', 'json', 'pdf'] as const
const unknownUrl = `/quote/share/${'x'.repeat(43)}`

const { app, url } = await startServiceWithLink(t)

t.test('returns the format that Accept requests, and varies by Accept', async (t) => {
  for (const [accept, format] of [
    [undefined, 'html'],
    ['', 'html'],
    ['*/*', 'html'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'html'],
    ['application/json', 'json'],
    ['application/*', 'json'],
    ['application/pdf', 'pdf'],
    ['text/html;q=0.5,application/pdf', 'pdf'],
    ['text/html;q=0,*/*', 'json'],
  ] as const) {
    const response = await app.inject({ url, headers: accept === undefined ? {} : { accept } })
    t.equal(response.headers['content-type'], types[format], `Accept: ${accept}`)
    t.equal(response.headers.vary, 'Accept, Accept-Language, Accept-Encoding')
  }
})

t.test('?format= wins over Accept, and HEAD has the headers of GET', async (t) => {
  for (const format of formats) {
    const target = `${url}?format=${format}`
    const get = await app.inject({ url: target, headers: { accept: 'image/png' } })
    t.equal(get.headers['content-type'], types[format], format)
    const head = await app.inject({ method: 'HEAD', url: target })
    t.same([head.statusCode, head.body], [200, ''])
    for (const name of [
      'content-type',
      'content-length',
      'vary',
      'cache-control',
      'content-disposition',
    ])
      t.equal(head.headers[name], get.headers[name], `HEAD ${format}: ${name}`)
  }
})

t.test('the punctuation after a link is no part of it', async (t) => {
  for (const ending of [
    '.',
    ')',
    ',',
    '/',
    '%20',
    ').',
    '%29',
    '%C2%BB',
    "'",
    ':',
    '%3E',
    '/?lang=en',
  ])
    t.equal((await app.inject(`${url}${ending}`)).statusCode, 200, ending)
  t.match((await app.inject(`${url}).?format=json`)).headers['content-type'], /json/)
  for (const ending of ['x', '-', '/x', '.x', '%00', '%', '%FF', '/..', '/../x', '.'.repeat(40)])
    t.equal((await app.inject(`${url}${ending}`)).statusCode, 404, ending)
  for (const format of ['PDF', 'Json', 'HTML'])
    t.equal((await app.inject(`${url}?format=${format}`)).statusCode, 200, format)
})

t.test('a PDF has a file name in the language', async (t) => {
  const pdf = await app.inject(`${url}?format=pdf`)
  t.equal(pdf.rawPayload.subarray(0, 5).toString(), '%PDF-')
  t.equal(
    pdf.headers['content-disposition'],
    `inline; filename="Presupuesto-P-1.pdf"; filename*=UTF-8''Presupuesto-P-1.pdf`,
  )
  const english = await app.inject(`${url}?format=pdf&lang=en`)
  t.match(english.headers['content-disposition'], /Quotation-P-1/)
})

t.test('of repeated parameters the first one counts, and others are ignored', async (t) => {
  for (const [query, format] of [
    ['format=pdf&format=json', 'pdf'],
    ['format=json&utm_source=mail&format=pdf&format=html', 'json'],
  ] as const)
    t.equal((await app.inject(`${url}?${query}`)).headers['content-type'], types[format], query)
})

t.test('?lang= accepts any spelling of a language, and ignores others', async (t) => {
  for (const [query, language] of [
    ['lang=en&lang=fr', 'en'],
    ['lang=xx&lang=fr', 'es'],
    ['lang=EN', 'en'],
    ['lang=de-AT', 'de'],
    ['lang=-en', 'es'],
  ] as const) {
    const response = await app.inject(`${url}?${query}`)
    t.equal(response.headers['content-type'], types.html, query)
    t.match(response.body, `<html lang="${language}"`, query)
  }
})

t.test('any other format is 406, but an unknown link is 404 in any format', async (t) => {
  for (const bad of [`${url}?format=xml`, `${url}?format=`, `${url}?format=xml&format=json`])
    t.equal((await app.inject(bad)).statusCode, 406, bad)
  const png = await app.inject({ url, headers: { accept: 'image/png' } })
  t.equal(png.statusCode, 406)
  t.match(png.body, 'Formato no disponible')
  t.equal((await app.inject(`${unknownUrl}?format=xml`)).statusCode, 404)
  const unknown = await app.inject({
    url: `${unknownUrl}?format=pdf`,
    headers: { accept: 'text/html' },
  })
  t.equal(unknown.headers['content-type'], types.html)
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
