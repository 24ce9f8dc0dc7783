// Builds the responses of a quote link: the page, JSON and PDF of its quote, and error pages.
import type { IncomingHttpHeaders } from 'node:http'
import type { Seller } from '../../company/company.ts'
import { chooseEncoding } from '../../http/choose-encoding.ts'
import type { Problem } from '../../http/problem-details.ts'
import { mediaTypes, prefersErrorPage } from '../choose-representation.ts'
import { chooseErrorPage, renderErrorPage } from '../page/error-page.ts'
import { buildContentDisposition } from '../pdf/pdf-content-disposition.ts'
import type { Pdf } from '../pdf/typst-compiler.ts'
import { decodeContent, type EncodedContent } from '../rendering/encoded-content.ts'
import type { PageOrJson } from '../rendering/render-page-or-json.ts'
import { chooseErrorPageLanguage, getRequestedLanguage } from '../requested-language.ts'
import { LinkProblem } from './link-problems.ts'

/** The headers, including the content type, and the body of a response. */
export type LinkResponse = { headers: Record<string, string>; bytes: string | Buffer }

const contentTypes = {
  html: `${mediaTypes.html}; charset=utf-8`,
  json: `${mediaTypes.json}; charset=utf-8`,
}

/** Returns a page or JSON in the accepted encoding that compresses best. */
export async function buildPageOrJsonResponse(
  requestHeaders: IncomingHttpHeaders,
  { kind }: PageOrJson,
  content: EncodedContent,
): Promise<LinkResponse> {
  const type = contentTypes[kind]
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

/** Returns the error as a page, or null if the request is for JSON. */
export function buildErrorPageResponse(
  request: { headers: IncomingHttpHeaders; query: unknown },
  problem: Problem,
  seller: Seller,
): LinkResponse | null {
  if (!prefersErrorPage(request)) return null
  const language = chooseErrorPageLanguage(request, seller.language)
  const { page, showsContact } =
    problem instanceof LinkProblem
      ? problem
      : { page: chooseErrorPage(problem.code), showsContact: false }
  return {
    headers: { ...problem.headers, 'content-type': contentTypes.html },
    bytes: renderErrorPage(
      page,
      language,
      showsContact ? seller : null,
      getRequestedLanguage(request.query),
    ),
  }
}
