// Handles a request for a quote link: checks that the link is open, and returns its quote as page,
// JSON or PDF. The words of this folder, and their names in SQL (src/database/schema.sql), in two
// settings (SHARE_…) and in the URL:
//
// in this folder  in SQL             meaning
// link            share              what a token opens, until it expires or is revoked
// token           token_hash         the secret in the URL of a link; the database has its hash
// document                           the quote as JSON, frozen when the link was created
// content hash    content_hash       the hash of the document
// closed link                        expired or revoked; the visitor gets 410
// expired quote                      past its last valid day; its link stays open
// altered                            a document or its hash was changed in the database
// row version     row_version        changes whenever the row of a link changes
// erase           purge              delete the document of a link that was closed long ago
// render                             make the content that is sent: a page, JSON or PDF
//
// The life of a link:
// 1. create_quote_share freezes the document, for links/manage-links.ts or the ERP.
// 2. read_quote_share finds the link of a request, and read_quote_share_document its document.
// 3. The link expires, or revoke_quote_share revokes it. A trigger (guard_quote_share) rejects
//    every other change.
// 4. purge_quote_shares erases the document some time later
//    (links/erase-documents-of-closed-links.ts).
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import type { TaskLog } from '../monitoring/log/failure-log.ts'
import type { GuessLimit } from '../rate-limits/guess-limit.ts'
import { timeouts } from '../timeouts.ts'
import { failureRules, getRenderingFailureReason, isFailedPdf, QuoteFailure } from './failures.ts'
import { LinkAccess, requireOpen } from './links/link-access.ts'
import type { OpenLink } from './links/read-link.ts'
import { createViewCounter, isHumanView } from './links/view-counter.ts'
import { PageRenderer } from './page/page-renderer.ts'
import type { PageOrJsonVariant } from './page/render-page-or-json.ts'
import { PdfRenderer } from './pdf/pdf-renderer.ts'
import type { RenderingContext } from './rendering/rendering-cache.ts'
import {
  type Format,
  getRequestedFormat,
  getRequestedLanguage,
} from './requested-representation.ts'
import {
  buildPageOrJsonResponse,
  buildPdfResponse,
  type LinkResponse,
} from './responses/link-responses.ts'

export type QuoteOptions = {
  db: Kysely<Tables>
  /** Documents are read from the replica if possible. Only the primary says if a link is open. */
  replica: Replica | null
  company: Company
  /** Limits requests for unknown links. It never rejects a request for a known link. */
  guessLimit: GuessLimit
  countViews: boolean
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
  /** Counts the request for a link. Throws a problem if there were too many. */
  countOrRejectRequest(linkId: string): Promise<void>
  log: { error(fields: object, message: string): void }
}

/**
 * `isCached`: the content came from the cache, so hardly any time has passed since the link was
 * checked.
 */
type ReadyResponse = { response: LinkResponse; isCached: boolean }

export class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #pageRenderer: PageRenderer
  readonly #pdfRenderer: PdfRenderer
  readonly #links: LinkAccess
  readonly #countView: ((linkId: string) => void) | null
  #closeTimer: NodeJS.Timeout | undefined

  constructor(options: QuoteOptions) {
    const { db, replica, company, countViews, offersReplies, observer, clock, log } = options
    const { brand, timeZone } = company
    this.#options = options
    this.#links = new LinkAccess({ db, replica, timeZone, clock, observer })
    this.#pageRenderer = new PageRenderer({ brand, offersReplies })
    this.#pdfRenderer = new PdfRenderer(brand)
    this.#countView = countViews ? createViewCounter(db, log) : null
  }

  /**
   * Returns the quote in the requested format. Throws QuoteFailure if it cannot be shown. The table
   * in failures.ts has what the visitor gets then.
   */
  async buildResponse(request: LinkRequest): Promise<LinkResponse> {
    const { token } = request.params
    // 1. Find the link by the hash of its token.
    const found = await this.#links.read(token)
    // 2. Limit requests: for unknown links by the caller's IP address, for every other link by its
    //    id. So customers who share an IP address with an attacker can open their links.
    if (found.state === 'unknown_link') await this.#options.guessLimit.recordGuessOrReject(request)
    else await request.countOrRejectRequest(found.linkId)
    // 3. Check that the link is open, and choose page, JSON or PDF.
    const link = requireOpen(found)
    const format = getRequestedFormat(request)
    if (format === null) throw new QuoteFailure('not_acceptable')
    // 4. Take the response from the cache, or read and verify the document and render it.
    const { response, isCached } = await this.#getResponse(request, link, format)
    // 5. The link may have been closed during the rendering.
    if (!isCached) requireOpen(await this.#links.read(token))
    // 6. Count the view in the background.
    if (isHumanView(request)) this.#countView?.(link.linkId)
    return response
  }

  /**
   * Closes after a delay in which running renderings may finish. The requests for those that do not
   * finish get a page that asks the visitor to try again.
   */
  closeSoon(): void {
    this.#closeTimer = setTimeout(() => this.close(), timeouts.quotes.stopRendering.ms)
  }

  close(): void {
    clearTimeout(this.#closeTimer)
    this.#pdfRenderer.close()
    this.#pageRenderer.close()
  }

  #getResponse(request: LinkRequest, link: OpenLink, format: Format): Promise<ReadyResponse> {
    if (format !== 'pdf') return this.#getPageOrJson(request, link, format)
    return this.#getPdf(request, link).catch((error: unknown) => {
      if (isFailedPdf(error)) this.#options.observer.countFailedPdf()
      throw error
    })
  }

  async #getPdf(request: LinkRequest, link: OpenLink): Promise<ReadyResponse> {
    const language = getRequestedLanguage(request.query)
    const context = this.#createRenderingContext(request, link, 'pdf')
    const { content, isCached } = await this.#pdfRenderer.getOrRender(link, language, context)
    return { response: buildPdfResponse(content), isCached }
  }

  async #getPageOrJson(
    request: LinkRequest,
    link: OpenLink,
    format: PageOrJsonVariant['format'],
  ): Promise<ReadyResponse> {
    const variant = this.#chooseVariant(request, link, format)
    const context = this.#createRenderingContext(request, link, format)
    const { content, isCached } = await this.#pageRenderer.getOrRender(link, variant, context)
    const response = await buildPageOrJsonResponse(request.headers, format, content)
    return { response, isCached }
  }

  #chooseVariant(
    request: LinkRequest,
    link: OpenLink,
    format: PageOrJsonVariant['format'],
  ): PageOrJsonVariant {
    if (format === 'json') return { format }
    const language = getRequestedLanguage(request.query)
    return { format, language, offersPdf: !this.#pdfRenderer.isBlocked(link, language) }
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
