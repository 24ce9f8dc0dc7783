// Builds the responses of an open link: the page, JSON or PDF of its quote. Also builds the headers
// of all responses of links, errors included.
import type { IncomingHttpHeaders } from 'node:http'
import type { Brand } from '../../company/brand.ts'
import { noStore } from '../../http/common-headers.ts'
import { chooseEncoding } from '../../http/compressed-content.ts'
import { decodeContent, type EncodedContent } from '../page/encoded-content.ts'
import type { PageOrJsonVariant } from '../page/render-page-or-json.ts'
import { buildContentSecurityPolicy } from '../page/template-loader.ts'
import { buildContentDisposition } from '../pdf/pdf-content-disposition.ts'
import type { Pdf } from '../pdf/typst-compiler.ts'
import { mediaTypes } from '../requested-representation.ts'

/** The headers, including the content type, and the body of a response. */
export type LinkResponse = { headers: Record<string, string>; bytes: string | Buffer }

export const contentTypes = {
  html: `${mediaTypes.html}; charset=utf-8`,
  json: `${mediaTypes.json}; charset=utf-8`,
}

/**
 * Returns the headers of every response, errors included. No response may be stored, indexed,
 * framed or run scripts. No referrer is sent, because the URL contains the token.
 */
export const createLinkResponseHeaders = (brand: Brand) => ({
  'cache-control': noStore,
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'content-security-policy': buildContentSecurityPolicy(brand),
  'x-content-type-options': 'nosniff',
  vary: 'Accept, Accept-Language, Accept-Encoding',
})

/** Returns a page or JSON in the accepted encoding that compresses best. */
export async function buildPageOrJsonResponse(
  requestHeaders: IncomingHttpHeaders,
  format: PageOrJsonVariant['format'],
  content: EncodedContent,
): Promise<LinkResponse> {
  const type = contentTypes[format]
  const encoding = chooseEncoding(requestHeaders)
  if (encoding === 'identity')
    return { headers: { 'content-type': type }, bytes: await decodeContent(content) }
  const headers = { 'content-type': type, 'content-encoding': encoding }
  return { headers, bytes: content[encoding] }
}

/** Returns a response that makes a browser open the PDF in the tab. */
export function buildPdfResponse({ pdf, fileName }: Pdf): LinkResponse {
  const headers = {
    'content-type': mediaTypes.pdf,
    'content-disposition': buildContentDisposition(fileName),
  }
  return { headers, bytes: pdf }
}
