// Builds the responses of links: the page, JSON or PDF of a quote, and errors as JSON or page.
import type { IncomingHttpHeaders } from 'node:http'
import type { Brand } from '../company/brand.ts'
import type { Company, Seller } from '../company/company-file.ts'
import { noStore } from '../http/common-headers.ts'
import { chooseEncoding } from '../http/compressed-content.ts'
import { quoteLinkBase } from '../http/endpoint-paths.ts'
import { Problem } from '../http/problem-details.ts'
import { removeAccents } from '../text/accent-folding.ts'
import {
  type ErrorPageName,
  failureRules,
  getPageOfProblem,
  needsErrorLog,
  type QuoteFailure,
} from './failures.ts'
import { buildContentSecurityPolicy, decodeContent, renderErrorPage } from './page/quote-page.ts'
import type { Rendering } from './rendering/rendering-main.ts'
import {
  chooseErrorPageLanguage,
  type Format,
  getRequestedLanguage,
  mediaTypes,
  prefersErrorPage,
} from './requested-representation.ts'

export type LinkResponse = { headers: Record<string, string>; bytes: string | Buffer }

const contentTypes = {
  html: `${mediaTypes.html}; charset=utf-8`,
  json: `${mediaTypes.json}; charset=utf-8`,
  pdf: mediaTypes.pdf,
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

/**
 * Returns a page or JSON in the accepted encoding that compresses best. Browsers open a PDF in the
 * tab instead of downloading it.
 */
export async function buildResponse(
  requestHeaders: IncomingHttpHeaders,
  format: Format,
  rendering: Rendering,
): Promise<LinkResponse> {
  const headers = { 'content-type': contentTypes[format] }
  if ('pdf' in rendering) {
    const disposition = buildContentDisposition(rendering.fileName)
    return { headers: { ...headers, 'content-disposition': disposition }, bytes: rendering.pdf }
  }
  const encoding = chooseEncoding(requestHeaders)
  if (encoding === 'identity') return { headers, bytes: await decodeContent(rendering) }
  return { headers: { ...headers, 'content-encoding': encoding }, bytes: rendering[encoding] }
}

/**
 * Returns the value of Content-Disposition: the name as RFC 8187 encodes it, and an ASCII name for
 * programs that do not support RFC 8187.
 */
function buildContentDisposition(fileName: string): string {
  return `inline; filename="${toAsciiName(fileName)}"; filename*=UTF-8''${encodeName(fileName)}`
}

function toAsciiName(fileName: string): string {
  return removeAccents(fileName).replace(/[^A-Za-z0-9._-]+/g, '-')
}

/** Replaces the characters that file systems reject, and percent-encodes the name (RFC 8187). */
function encodeName(fileName: string): string {
  const safeName = fileName.replace(/[\\/:*?"<>|\s]+/g, '-')
  // encodeURIComponent leaves these characters as they are, but RFC 8187 does not allow them.
  return encodeURIComponent(safeName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
}

/** An error as JSON shows it (`problem`), and as a page shows it. */
type DescribedError = { problem: Problem; page: ErrorPageName; showsContact: boolean }

/**
 * Describes why a request does not get its quote in the requested format. The failure is logged
 * with its cause, but neither is sent.
 */
export function describeFailure(
  failure: QuoteFailure,
  { legalName, email, phone }: Pick<Seller, 'legalName' | 'email' | 'phone'>,
  format: Format | null,
): DescribedError {
  const { reason } = failure
  const { code, page, pdfPage, detail, showsContact = false, retryAfterMs } = failureRules[reason]
  const contact = showsContact ? ` Ask ${legalName} for a new one: ${email}, ${phone}.` : ''
  const problem = new Problem(code, detail + contact, {
    cause: failure,
    reason,
    skipErrorLog: !needsErrorLog(failure),
    ...(retryAfterMs !== undefined && { headers: { 'retry-after': `${retryAfterMs / 1000}` } }),
  })
  return { problem, page: (format === 'pdf' && pdfPage) || page, showsContact }
}

export function describeProblem(problem: Problem): DescribedError {
  return { problem, page: getPageOfProblem(problem.code), showsContact: false }
}

export function buildErrorPageResponse(
  request: { headers: IncomingHttpHeaders; query: unknown },
  { problem, page, showsContact }: DescribedError,
  seller: Seller,
): LinkResponse | null {
  if (!prefersErrorPage(request)) return null
  return {
    headers: { ...problem.headers, 'content-type': contentTypes.html },
    bytes: renderErrorPage({
      name: page,
      language: chooseErrorPageLanguage(request, seller.language),
      requestedLanguage: getRequestedLanguage(request.query),
      contact: showsContact ? seller : null,
    }),
  }
}

/**
 * Returns a function that builds the page of a problem with all its headers, for requests that do
 * not reach the route because the service is overloaded. It returns null if the request asks for
 * JSON or for a different path.
 */
export function createErrorPagesOutsideRoute({ brand, seller }: Company) {
  const linkResponseHeaders = createLinkResponseHeaders(brand)
  return (
    { url = '', headers }: { url?: string | undefined; headers: IncomingHttpHeaders },
    problem: Problem,
  ): LinkResponse | null => {
    if (!isLinkUrl(url)) return null
    const request = { headers, query: readQuery(url) }
    const page = buildErrorPageResponse(request, describeProblem(problem), seller)
    return page && { ...page, headers: { ...linkResponseHeaders, ...page.headers } }
  }
}

function readQuery(url: string): { format: string | undefined; lang: string | undefined } {
  const parameters = new URLSearchParams(url.split('?')[1])
  const read = (name: string) => parameters.get(name) ?? undefined
  return { format: read('format'), lang: read('lang') }
}

// A malformed path of a link gets the same 404 as any unknown link.
/** Longer than any token. Shorter than what Fastify matches (maxParamLength, 500). */
const maxTokenLength = 100
const linkPath = new RegExp(`^${quoteLinkBase}([/?]|$)`)
const wellFormedPath = new RegExp(`^${quoteLinkBase}/[A-Za-z0-9_-]{1,${maxTokenLength}}([?]|$)`)
// Programs that make links of texts may take the punctuation after a link for a part of it.
const pathWithPunctuation = new RegExp(
  `^(${quoteLinkBase}/[A-Za-z0-9_-]{43})([^A-Za-z0-9_?-][^?]{0,29})([?].*)?$`,
)
const unknownLinkPath = `${quoteLinkBase}/-`

function isPunctuation(encodedText: string): boolean {
  try {
    return /^[\p{P}\p{Z}><]+$/u.test(decodeURIComponent(encodedText))
  } catch {
    return false
  }
}

function isLinkUrl(url: string): boolean {
  return linkPath.test(url)
}

/**
 * Returns the path of an unknown link, with the same query, for a malformed URL of a quote link. A
 * well-formed one has 1 to 100 token characters after /quote/share/, and perhaps punctuation after
 * 43 of them, which is removed. Returns every other URL unchanged.
 */
export function replaceMalformedLinkPath(url: string): string {
  if (!isLinkUrl(url) || wellFormedPath.test(url)) return url
  const [, path, ending = '', rest = ''] = pathWithPunctuation.exec(url) ?? []
  if (path !== undefined && isPunctuation(ending)) return path + rest
  const query = url.indexOf('?')
  return query === -1 ? unknownLinkPath : unknownLinkPath + url.slice(query)
}
