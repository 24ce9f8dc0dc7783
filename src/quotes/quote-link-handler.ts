// Handles a request for a quote link: checks that the link is open, and returns its quote as page,
// JSON or PDF. docs/architecture.md explains the terms.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import type { Company } from '../company/company-file.ts'
import type { Tables } from '../database/table-types.ts'
import type { TaskLog } from '../monitoring/log/failure-log.ts'
import type { GuessLimit } from '../rate-limits/guess-limit.ts'
import { failureRules, getRenderingFailureReason, isFailedPdf, QuoteFailure } from './failures.ts'
import { LinkAccess, requireOpen } from './links/link-access.ts'
import type { OpenLink } from './links/read-link.ts'
import { createViewCounter, isHumanView } from './links/view-counter.ts'
import { QuoteRenderer, type RenderingContext } from './rendering/quote-renderer.ts'
import { type Format, getRequestedFormat, getRequestedLocale } from './requested-representation.ts'
import { buildResponse, type LinkResponse } from './responses.ts'

// Their requests still get an answer: their connections are closed a second later.
export const stopRenderingTimeout = { ms: 4_000 }

export type QuoteOptions = {
  db: Kysely<Tables>
  company: Company
  /** Limits requests for unknown links. It never rejects a request for a known link. */
  guessLimit: GuessLimit
  countViews: boolean
  /** Whether links begin with https. Then current browsers say how a page is opened. */
  isHttps: boolean
  /** Whether pages have links that start an email to the seller. */
  offersReplies: boolean
  /** `countFailedPdf`: a request got no PDF, perhaps because of an earlier failure. */
  observer: { countAlteredDocument(): void; countFailedPdf(): void }
  clock: () => Date
  log: TaskLog
}

type LinkRequest = {
  method: string
  ip: string
  headers: IncomingHttpHeaders
  query: unknown
  params: { token: string }
  log: { error(fields: object, message: string): void }
}

export class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #renderer: QuoteRenderer
  readonly #links: LinkAccess
  readonly #countView: ((linkId: string) => void) | null
  #closeTimer: NodeJS.Timeout | undefined

  constructor(options: QuoteOptions) {
    const { db, company, countViews, offersReplies, observer, clock, log } = options
    const { brand, timeZone } = company
    this.#options = options
    this.#links = new LinkAccess({ db, timeZone, clock, observer })
    this.#renderer = new QuoteRenderer({ brand, offersReplies, timeZone })
    this.#countView = countViews ? createViewCounter(db, log) : null
  }

  /**
   * Returns the quote in the requested format. Throws QuoteFailure if the quote cannot be shown:
   * failures.ts lists what the visitor gets for each reason. Throws Problem (429) when a limit is
   * exceeded: for unknown links by address, for known links by link.
   */
  async buildResponse(
    request: LinkRequest,
    countOrRejectRequest: (linkId: string) => Promise<void>,
  ): Promise<LinkResponse> {
    const { token } = request.params
    // 1. Find the link by the hash of its token. Only after this query is it known whether the
    //    token was guessed. So every guess costs one query on the primary, even if it gets 429. The
    //    connection pool limits how many of these queries run at once.
    const found = await this.#links.readState(token)
    // 2. Limit requests: for unknown links by the caller's IP address, for known links by their id.
    //    So customers who share an IP address with an attacker can open their links.
    if (found.state === 'unknown_link') await this.#options.guessLimit.recordGuessOrReject(request)
    else await countOrRejectRequest(found.linkId)
    // 3. Check that the link is open, and choose page, JSON or PDF.
    const link = requireOpen(found)
    const format = getRequestedFormat(request)
    if (format === null) throw new QuoteFailure('not_acceptable')
    // 4. Take the content from the cache, or read and verify the document and render it.
    const { response, isCached } = await this.#getOrRender(request, link, format)
    // 5. The link may have been closed during the rendering.
    if (!isCached) requireOpen(await this.#links.readState(token))
    // 6. Count the view in the background.
    if (isHumanView(request, this.#options.isHttps)) this.#countView?.(link.linkId)
    return response
  }

  /**
   * Closes after a delay in which running renderings may finish. The requests for those that do not
   * finish get a page that asks the visitor to try again.
   */
  closeSoon(): void {
    this.#closeTimer = setTimeout(() => this.close(), stopRenderingTimeout.ms)
  }

  close(): void {
    clearTimeout(this.#closeTimer)
    this.#renderer.close()
  }

  async #getOrRender(request: LinkRequest, link: OpenLink, format: Format) {
    const { headers, query } = request
    const context = this.#createRenderingContext(request, link, format)
    const rendering = this.#renderer.getOrRender(link, format, getRequestedLocale(query), context)
    const { rendering: content, isCached } = await rendering.catch((error: unknown) => {
      if (format === 'pdf' && isFailedPdf(error)) this.#options.observer.countFailedPdf()
      throw error
    })
    return { response: await buildResponse(headers, format, content), isCached }
  }

  #createRenderingContext(
    { params, log }: LinkRequest,
    link: OpenLink,
    format: Format,
  ): RenderingContext {
    return {
      readVerifiedDocument: () => this.#links.readVerifiedDocument(params.token, link),
      logFailure: (error) => {
        const reason = getRenderingFailureReason(error)
        const { code } = failureRules[reason]
        // scripts/share.ts lists the links of a quote with their ids.
        log.error({ err: error, code, reason, linkId: link.linkId, format }, 'quote not shown')
      },
    }
  }
}
