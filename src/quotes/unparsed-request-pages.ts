// Answers requests for quote links that Fastify does not handle, because the service is overloaded
// or because Node could not parse them.
import type { IncomingHttpHeaders } from 'node:http'
import { defaultBrand } from '../company/brand.ts'
import type { Company } from '../company/company.ts'
import type { Problem } from '../http/problem-details.ts'
import { buildErrorPageAnswer, type LinkAnswer } from './link-answers.ts'
import { createLinkResponseHeaders } from './links/link-response-headers.ts'
import { isLinkUrl } from './links/malformed-link-paths.ts'

type UnparsedRequest = { url?: string | undefined; headers: IncomingHttpHeaders }

/**
 * Returns a function that returns a problem as a page with all its headers. It returns null if the
 * request is for JSON, or for another path.
 */
export function createUnparsedRequestPages({ brand = defaultBrand, seller }: Company) {
  const linkResponseHeaders = createLinkResponseHeaders(brand)
  return ({ url = '', headers }: UnparsedRequest, problem: Problem): LinkAnswer | null => {
    if (!isLinkUrl(url)) return null
    const page = buildErrorPageAnswer({ headers, query: readQuery(url) }, problem, seller)
    return page && { ...page, headers: { ...linkResponseHeaders, ...page.headers } }
  }
}

/** Returns the parameters that choose an error page. */
function readQuery(url: string): { format: string | undefined; lang: string | undefined } {
  const parameters = new URLSearchParams(url.split('?')[1])
  const read = (name: string) => parameters.get(name) ?? undefined
  return { format: read('format'), lang: read('lang') }
}
