// Handles a request for a quote link: checks that the link is open, and returns its quote as page,
// JSON or PDF.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import type { FailedAttemptLimit } from '../rate-limits/failed-attempt-limit.ts'
import { timeouts } from '../timeouts.ts'
import { chooseRepresentation, type Representation } from './choose-representation.ts'
import { DocumentReader } from './document-reader.ts'
import { failures, getFailureReason, QuoteFailure } from './failures.ts'
import {
  buildPageOrJsonResponse,
  buildPdfResponse,
  type LinkResponse,
} from './links/link-responses.ts'
import { type LinkState, type OpenLink, readLink } from './links/read-link.ts'
import { PdfRenderer, type PdfVariant } from './pdf/pdf-renderer.ts'
import type { EncodedContent } from './rendering/encoded-content.ts'
import { isLarge, PageRenderer } from './rendering/page-renderer.ts'
import type { PageOrJson } from './rendering/render-page-or-json.ts'
import { getRequestedLanguage } from './requested-language.ts'
import { createViewCounter, isHumanView } from './view-counter.ts'

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

export type LinkRequest = {
  method: string
  ip: string
  headers: IncomingHttpHeaders
  query: unknown
  params: { token: string }
  /** Counts the request for a link. Throws a problem if there were too many. */
  countLinkRequest(linkId: string): Promise<void>
  log: { error(fields: object, message: string): void }
}

/** `isCached` is false if the result was rendered for this request. */
type Answer = { response: LinkResponse; isCached: boolean }

export class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #documents: DocumentReader
  readonly #pageRenderer: PageRenderer
  readonly #pdfRenderer: PdfRenderer
  #closeTimer: NodeJS.Timeout | undefined
  readonly #countView: ((shareId: string) => void) | null

  constructor(options: QuoteOptions) {
    const { db, replica, company, countViews } = options
    const { brand } = company
    this.#options = options
    this.#documents = new DocumentReader(db, replica)
    this.#pageRenderer = new PageRenderer({
      brand,
      onReplicaRead: (outcome) => replica?.countRead('document', outcome),
    })
    this.#pdfRenderer = new PdfRenderer({ brand })
    this.#countView = countViews ? createViewCounter(db) : null
  }

  /**
   * Returns the quote in the requested representation. Throws QuoteFailure if it cannot be shown.
   * The table in failures.ts has what the visitor gets then.
   */
  async buildResponse(request: LinkRequest): Promise<LinkResponse> {
    // 1. Find the link by the hash of its token, always on the primary. Check that it is open.
    const state = await this.#readLink(request)
    // Guesses are counted after the query, so a known link always opens, even if others at the same
    // address have guessed too often.
    await this.#limitGuesses(request, state)
    const link = requireOpen(state)
    // 2. Limit the requests for each link.
    await request.countLinkRequest(link.shareId)
    // 3. Choose page, JSON or PDF.
    const representation = chooseRepresentation(request)
    if (representation === null) throw new QuoteFailure('not-acceptable')
    try {
      // 4. The hash of a link never changes: if it did, show nothing.
      this.#rejectChangedHash(link)
      // 5. Take the result from the cache, or read the document and render it.
      const { response, isCached } =
        representation === 'pdf'
          ? await this.#getPdf(request, link)
          : await this.#getPageOrJson(request, link, representation)
      // 6. The result may come from another link to the same content. Then verify this link, too.
      const mustVerify = !this.#documents.verifiedLinks.has(link)
      if (mustVerify) await this.#readDocument(request, link)
      // 7. Reading and rendering take time. Nobody sees a quote whose link was closed meanwhile.
      if (!isCached || mustVerify) requireOpen(await this.#readLink(request))
      // 8. Count the view in the background.
      if (isHumanView(request)) this.#countView?.(link.shareId)
      return response
    } catch (error) {
      const failure = await this.#explain(error, request)
      this.#countFailure(failure, representation)
      throw failure
    }
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

  /** Counts a request for an unknown link. Throws a 429 problem if there were too many. */
  async #limitGuesses(request: LinkRequest, { state }: LinkState): Promise<void> {
    if (state === 'unknown') await this.#options.failedAttempts.recordFailure(request)
  }

  async #readLink(request: LinkRequest): Promise<LinkState> {
    const { db, company, clock } = this.#options
    const options = { timeZone: company.timeZone, now: clock() }
    return readLink(db, request.params.token, options).catch((cause: unknown) => {
      throw new QuoteFailure('not-read', 'The link was not read.', { cause })
    })
  }

  #rejectChangedHash(link: OpenLink): void {
    if (this.#documents.verifiedLinks.hadOtherHash(link))
      throw new QuoteFailure('altered', `Link ${link.shareId} has another hash than before.`)
  }

  async #getPdf(request: LinkRequest, link: OpenLink): Promise<Answer> {
    const wanted = getPdfVariant(request, link)
    const cached = this.#pdfRenderer.getCached(wanted)
    const pdf =
      cached ??
      (await this.#pdfRenderer.render(
        wanted,
        () => this.#readDocument(request, link),
        (error) => logFailedRendering(request.log, link, error),
      ))
    return { response: buildPdfResponse(pdf), isCached: cached !== undefined }
  }

  async #getPageOrJson(
    request: LinkRequest,
    link: OpenLink,
    kind: PageOrJson['kind'],
  ): Promise<Answer> {
    const wanted: PageOrJson =
      kind === 'json'
        ? { kind }
        : {
            kind,
            language: getRequestedLanguage(request.query),
            offersReplies: this.#options.offersReplies,
            offersPdf: !this.#pdfRenderer.hasFailed(getPdfVariant(request, link)),
          }
    const cached = this.#pageRenderer.getCached(link, wanted)
    const content = cached ?? (await this.#renderPageOrJson(request, link, wanted))
    const response = await buildPageOrJsonResponse(request.headers, wanted, content)
    return { response, isCached: cached !== undefined }
  }

  /** Renders a small quote in this process. A child process reads and renders a large one. */
  async #renderPageOrJson(
    request: LinkRequest,
    link: OpenLink,
    wanted: PageOrJson,
  ): Promise<EncodedContent> {
    if (!isLarge(link)) {
      const document = await this.#readDocument(request, link)
      return this.#pageRenderer.renderSmall({ ...link, document }, wanted)
    }
    const { databaseUrl, replica, replicaUrl } = this.#options
    return this.#pageRenderer.renderLarge(
      {
        token: request.params.token,
        link,
        wanted,
        databaseUrl,
        replicaUrl: replica?.isUsable() ? replicaUrl : null,
      },
      {
        onVerified: () => this.#documents.verifiedLinks.add(link),
        onFailure: (error) => logFailedRendering(request.log, link, error),
      },
    )
  }

  #readDocument({ params }: LinkRequest, link: OpenLink): Promise<string> {
    return this.#documents.read(params.token, link)
  }

  /** A closed link has no document. Then returns the failure that says that it is closed. */
  async #explain(error: unknown, request: LinkRequest): Promise<unknown> {
    if (getFailureReason(error) !== 'no-document') return error
    try {
      requireOpen(await this.#readLink(request))
      return error
    } catch (reason) {
      return reason
    }
  }

  #countFailure(error: unknown, representation: Representation): void {
    const { observer } = this.#options
    const reason = getFailureReason(error)
    if (reason === 'altered') observer.countAlteredDocument()
    if (representation === 'pdf' && failures[reason].isFault) observer.countFailedPdf()
  }
}

/** Throws QuoteFailure if the link is unknown, expired or revoked. */
function requireOpen(link: LinkState): OpenLink {
  if (link.state !== 'open') throw new QuoteFailure(link.state)
  return link
}

/** Returns which PDF of the quote is requested, or would be. */
function getPdfVariant({ query }: LinkRequest, { contentHash, status }: OpenLink): PdfVariant {
  return { contentHash, status, language: getRequestedLanguage(query) ?? null }
}

/**
 * Logs a rendering as soon as it fails, because its request may already have got a response. Names
 * the link by its id, which scripts/share.ts lists.
 */
function logFailedRendering(log: LinkRequest['log'], { shareId }: OpenLink, error: unknown): void {
  log.error({ err: error, code: 'unavailable', shareId }, 'rendering failed')
}
