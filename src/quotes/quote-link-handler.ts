// Handles a request for a quote link: checks that the link is open, and returns its quote as page,
// JSON or PDF.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import pLimit from 'p-limit'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import type { FailedAttemptLimit } from '../rate-limits/failed-attempt-limit.ts'
import { timeouts } from '../timeouts.ts'
import { failures, getFailureReason, QuoteFailure } from './failures.ts'
import {
  buildPageOrJsonResponse,
  buildPdfResponse,
  type LinkResponse,
} from './links/link-responses.ts'
import { readDocumentFromReplicaOrPrimary } from './links/read-document.ts'
import { type LinkState, type OpenLink, readLink } from './links/read-link.ts'
import { VerifiedLinks } from './links/verified-links.ts'
import { createViewCounter, isHumanView } from './links/view-counter.ts'
import type { EncodedContent } from './page/encoded-content.ts'
import { isLarge, PageRenderer } from './page/page-renderer.ts'
import type { PageOrJsonVariant } from './page/render-page-or-json.ts'
import { PdfRenderer } from './pdf/pdf-renderer.ts'
import {
  type Format,
  getRequestedFormat,
  getRequestedLanguage,
} from './requested-representation.ts'

/**
 * The maximum number of documents that the main thread reads at the same time, for PDFs and small
 * pages. The driver takes 3 ms for a document of 2,000 lines, so many at once would delay other
 * requests.
 */
const maxConcurrentReads = 2

export type QuoteOptions = {
  db: Kysely<Tables>
  /** The URL of the same database, for the process that reads large documents. */
  databaseUrl: string
  /** Documents are read from the replica if possible. Only the primary says if a link is open. */
  replica: Replica | null
  replicaUrl: string | null
  company: Company
  /** Limits requests for unknown links. It never rejects a request for a known link. */
  failedAttempts: FailedAttemptLimit
  countViews: boolean
  /** Whether pages have links that start an email to the seller. */
  offersReplies: boolean
  observer: { countAlteredDocument(): void; countFailedPdf(): void }
  clock: () => Date
}

type LinkRequest = {
  method: string
  ip: string
  headers: IncomingHttpHeaders
  query: unknown
  params: { token: string }
  /** Counts the request for a link. Throws a problem if there were too many. */
  countLinkRequest(linkId: string): Promise<void>
  log: { error(fields: object, message: string): void }
}

/** A response that is not sent yet. `isCached`: its content was rendered for an earlier request. */
type ReadyResponse = { response: LinkResponse; isCached: boolean }

export class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #pageRenderer: PageRenderer
  readonly #pdfRenderer: PdfRenderer
  /** The links whose documents matched their hashes. */
  readonly #verifiedLinks = new VerifiedLinks()
  readonly #limitReads = pLimit(maxConcurrentReads)
  readonly #countView: ((shareId: string) => void) | null
  #closeTimer: NodeJS.Timeout | undefined

  constructor(options: QuoteOptions) {
    const { db, company, countViews, offersReplies } = options
    const { brand } = company
    this.#options = options
    this.#pageRenderer = new PageRenderer({ brand, offersReplies })
    this.#pdfRenderer = new PdfRenderer(brand)
    this.#countView = countViews ? createViewCounter(db) : null
  }

  /**
   * Returns the quote in the requested format. Throws QuoteFailure if it cannot be shown. The table
   * in failures.ts has what the visitor gets then.
   */
  async buildResponse(request: LinkRequest): Promise<LinkResponse> {
    // 1. Find the link by the hash of its token, always on the primary. Check that it is open.
    const found = await this.#readLink(request)
    // Guesses are counted after the query, so a known link always opens, even if others at the same
    // address have guessed too often. After too many of them this throws a 429 problem.
    if (found.state === 'unknown') await this.#options.failedAttempts.recordFailure(request)
    const link = requireOpen(found)
    // 2. Limit the requests for each link.
    await request.countLinkRequest(link.shareId)
    // 3. Choose page, JSON or PDF.
    const format = getRequestedFormat(request)
    if (format === null) throw new QuoteFailure('not-acceptable')
    try {
      return await this.#answerOpenLink(request, link, format)
    } catch (error) {
      const failure = await this.#explainMissingDocument(error, request)
      this.#countFailure(failure, format)
      throw failure
    }
  }

  async #answerOpenLink(
    request: LinkRequest,
    link: OpenLink,
    format: Format,
  ): Promise<LinkResponse> {
    // 4. The hash of a link never changes: if it did, show nothing.
    if (this.#verifiedLinks.hadOtherHash(link))
      throw new QuoteFailure('altered', `Link ${link.shareId} has another hash than before.`)
    // 5. Take the result from the cache, or read the document and render it.
    const { response, isCached } =
      format === 'pdf'
        ? await this.#getPdf(request, link)
        : await this.#getPageOrJson(request, link, format)
    // 6. Check that the result may be sent for this link.
    await this.#checkBeforeSending(request, link, isCached)
    // 7. Count the view in the background.
    if (isHumanView(request)) this.#countView?.(link.shareId)
    return response
  }

  /**
   * Verifies the document of the link, unless it has been verified before: a cached result may have
   * been rendered for another link with the same content. Then checks that the link is still open,
   * because reading and rendering take time. Throws QuoteFailure.
   */
  async #checkBeforeSending(
    request: LinkRequest,
    link: OpenLink,
    isCached: boolean,
  ): Promise<void> {
    const mustVerify = !this.#verifiedLinks.has(link)
    if (mustVerify) await this.#readDocument(request, link)
    if (!isCached || mustVerify) requireOpen(await this.#readLink(request))
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

  async #readLink(request: LinkRequest): Promise<LinkState> {
    const { db, company, clock } = this.#options
    const options = { timeZone: company.timeZone, now: clock() }
    return readLink(db, request.params.token, options).catch((cause: unknown) => {
      throw new QuoteFailure('database-unreadable', 'The link was not read.', { cause })
    })
  }

  async #getPdf(request: LinkRequest, link: OpenLink): Promise<ReadyResponse> {
    const language = getRequestedLanguage(request.query)
    const cached = this.#pdfRenderer.getCached(link, language)
    const pdf =
      cached ??
      (await this.#pdfRenderer.render(
        link,
        language,
        () => this.#readDocument(request, link),
        (error) => logFailedRendering(request.log, link, error),
      ))
    return { response: buildPdfResponse(pdf), isCached: cached !== undefined }
  }

  async #getPageOrJson(
    request: LinkRequest,
    link: OpenLink,
    format: PageOrJsonVariant['format'],
  ): Promise<ReadyResponse> {
    const variant = this.#chooseVariant(request, link, format)
    const cached = this.#pageRenderer.getCached(link, variant)
    const content = cached ?? (await this.#renderPageOrJson(request, link, variant))
    const response = await buildPageOrJsonResponse(request.headers, format, content)
    return { response, isCached: cached !== undefined }
  }

  #chooseVariant(
    request: LinkRequest,
    link: OpenLink,
    format: PageOrJsonVariant['format'],
  ): PageOrJsonVariant {
    if (format === 'json') return { format }
    const language = getRequestedLanguage(request.query)
    return { format, language, offersPdf: !this.#pdfRenderer.mayNotRetryYet(link, language) }
  }

  /** Renders a small quote in this process. A child process reads and renders a large one. */
  async #renderPageOrJson(
    request: LinkRequest,
    link: OpenLink,
    variant: PageOrJsonVariant,
  ): Promise<EncodedContent> {
    if (!isLarge(link)) {
      const documentJson = await this.#readDocument(request, link)
      return this.#pageRenderer.renderSmall({ ...link, documentJson }, variant)
    }
    const { databaseUrl, replica, replicaUrl } = this.#options
    return this.#pageRenderer.renderLarge(
      {
        token: request.params.token,
        link,
        variant,
        databaseUrl,
        replicaUrl: replica?.isUsable() ? replicaUrl : null,
      },
      {
        onReplicaRead: (outcome) => replica?.countRead('document', outcome),
        onVerified: () => this.#verifiedLinks.add(link),
        onFailure: (error) => logFailedRendering(request.log, link, error),
      },
    )
  }

  /** Returns the document of the link, which is verified then. */
  async #readDocument({ params }: LinkRequest, link: OpenLink): Promise<string> {
    const documentJson = await this.#limitReads(() =>
      readDocumentFromReplicaOrPrimary(this.#options, params.token, link),
    )
    this.#verifiedLinks.add(link)
    return documentJson
  }

  /** If a link has no document because it was closed meanwhile, returns a failure that says so. */
  async #explainMissingDocument(error: unknown, request: LinkRequest): Promise<unknown> {
    if (getFailureReason(error) !== 'no-document') return error
    return this.#readLink(request).then(
      ({ state }) => (state === 'open' ? error : new QuoteFailure(state)),
      (notRead: unknown) => notRead,
    )
  }

  #countFailure(error: unknown, format: Format): void {
    const { observer } = this.#options
    const reason = getFailureReason(error)
    if (reason === 'altered') observer.countAlteredDocument()
    // The service does not cause the failures that nobody logs.
    const isCausedByService = failures[reason].loggedBy !== 'nobody'
    if (format === 'pdf' && isCausedByService) observer.countFailedPdf()
  }
}

/** Throws QuoteFailure if the link is unknown, expired or revoked. */
function requireOpen(link: LinkState): OpenLink {
  if (link.state !== 'open') throw new QuoteFailure(link.state)
  return link
}

/**
 * Logs a rendering as soon as it fails, because its request may already have got a response. Names
 * the link by its id, which scripts/share.ts lists.
 */
function logFailedRendering(log: LinkRequest['log'], { shareId }: OpenLink, error: unknown): void {
  log.error({ err: error, code: 'unavailable', shareId }, 'rendering failed')
}
