// Builds the responses for errors of quote links: problems as JSON for programs, pages for people.
import type { IncomingHttpHeaders } from 'node:http'
import type { Company, Seller } from '../../company/company-file.ts'
import { Problem } from '../../http/problem-details.ts'
import {
  type ErrorPageName,
  failureRules,
  needsErrorLog,
  pagesOfProblems,
  type QuoteFailure,
} from '../failures.ts'
import { isLinkUrl } from '../links/link-paths.ts'
import { renderErrorPage } from '../page/error-page.ts'
import {
  chooseErrorPageLanguage,
  type Format,
  getRequestedLanguage,
  prefersErrorPage,
} from '../requested-representation.ts'
import { contentTypes, createLinkResponseHeaders, type LinkResponse } from './link-responses.ts'

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
  const { reason, retryAfterMs } = failure
  const { code, page, pdfPage, detail, showsContact = false } = failureRules[reason]
  const contact = showsContact ? ` Ask ${legalName} for a new one: ${email}, ${phone}.` : ''
  const problem = new Problem(code, detail + contact, {
    cause: failure,
    reason,
    skipErrorLog: !needsErrorLog(failure),
    ...(retryAfterMs !== null && {
      headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
    }),
  })
  return { problem, page: (format === 'pdf' && pdfPage) || page, showsContact }
}

/** Describes any other error. */
export function describeProblem(problem: Problem): DescribedError {
  return { problem, page: pagesOfProblems[problem.code], showsContact: false }
}

/** Returns the error as a page, or null if the request is for JSON. */
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
 * not reach the route: Node could not parse them, or the service is overloaded. It returns null if
 * the request asks for JSON or for a different path.
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

/** Returns the parameters that decide the format and the language of an error page. */
function readQuery(url: string): { format: string | undefined; lang: string | undefined } {
  const parameters = new URLSearchParams(url.split('?')[1])
  const read = (name: string) => parameters.get(name) ?? undefined
  return { format: read('format'), lang: read('lang') }
}
