// Builds error pages for requests for quote links that Fastify does not handle, because Node could
// not parse the request or the service is overloaded.
import type { IncomingHttpHeaders } from 'node:http'
import type { Company } from '../company/company.ts'
import type { Problem } from '../http/problem-details.ts'
import { createLinkResponseHeaders } from './links/link-response-headers.ts'
import { buildErrorPageResponse, type LinkResponse } from './links/link-responses.ts'
import { isLinkUrl } from './links/malformed-link-paths.ts'

type EarlyRequest = { url?: string | undefined; headers: IncomingHttpHeaders }

/**
 * Returns a function that builds the page of a problem with all its headers. It returns null if the
 * request asks for JSON or for a different path.
 */
export function createEarlyErrorPages({ brand, seller }: Company) {
  const linkResponseHeaders = createLinkResponseHeaders(brand)
  return ({ url = '', headers }: EarlyRequest, problem: Problem): LinkResponse | null => {
    if (!isLinkUrl(url)) return null
    const page = buildErrorPageResponse({ headers, query: readQuery(url) }, problem, seller)
    return page && { ...page, headers: { ...linkResponseHeaders, ...page.headers } }
  }
}

/** Returns the parameters that decide the format and the language of an error page. */
function readQuery(url: string): { format: string | undefined; lang: string | undefined } {
  const parameters = new URLSearchParams(url.split('?')[1])
  const read = (name: string) => parameters.get(name) ?? undefined
  return { format: read('format'), lang: read('lang') }
}
