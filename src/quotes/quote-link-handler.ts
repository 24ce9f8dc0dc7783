// Handles a request for a quote link: checks that the link is open, and returns its quote as page,
// JSON or PDF. route.ts describes the steps.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import { defaultBrand } from '../company/brand.ts'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import type { FailedAttemptLimit } from '../rate-limits/failed-attempt-limit.ts'
import { timeouts } from '../timeouts.ts'
import { chooseRepresentation } from './choose-representation.ts'
import { AlteredDocumentError, DocumentNotReadError } from './document-errors.ts'
import { DocumentReader } from './document-reader.ts'
import {
  createClosedLinkProblem,
  createNotAcceptableProblem,
  createQuoteUnavailableProblem,
  createRenderingProblem,
  createUnknownLinkProblem,
  LinkProblem,
} from './links/link-problems.ts'
import {
  buildPageOrJsonResponse,
  buildPdfResponse,
  type LinkResponse,
} from './links/link-responses.ts'
import { PdfRenderer, type PdfVariant } from './pdf/pdf-renderer.ts'
import type { Pdf } from './pdf/typst-compiler.ts'
import { type OpenLink, readLink } from './read-shared-quote.ts'
import type { EncodedContent } from './rendering/encoded-content.ts'
import { isLarge, PageRenderer } from './rendering/page-renderer.ts'
import type { PageOrJson } from './rendering/render-page-or-json.ts'
import { RenderingError } from './rendering/rendering-error.ts'
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

/** Checks that a link is open and returns its quote in the requested representation. */
export class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #documents: DocumentReader
  readonly #pageRenderer: PageRenderer
  readonly #pdfRenderer: PdfRenderer
  #closeTimer: NodeJS.Timeout | undefined
  readonly #countView: ((shareId: string) => void) | null

  constructor(options: QuoteOptions) {
    const { db, replica, company, countViews } = options
    const { brand = defaultBrand } = company
    this.#options = options
    this.#documents = new DocumentReader(db, replica)
    this.#pageRenderer = new PageRenderer({
      brand,
      onReplicaRead: (outcome) => replica?.countRead('document', outcome),
    })
    this.#pdfRenderer = new PdfRenderer({ brand })
    this.#countView = countViews ? createViewCounter(db) : null
  }

  /** Returns the quote in the requested representation. Throws a problem if it cannot be shown. */
  async buildResponse(request: LinkRequest): Promise<LinkResponse> {
    const link = await this.#requireOpenLink(request)
    await request.countLinkRequest(link.shareId)
    // The hash of a link never changes.
    if (this.#documents.verifiedLinks.hadOtherHash(link))
      throw this.#reportAlteredDocument(
        new AlteredDocumentError(`Link ${link.shareId} has another hash than before.`),
      )
    const response = await this.#represent(request, link)
    // A cached result may come from another link to the same content.
    await this.#verify(request, link)
    if (isHumanView(request)) this.#countView?.(link.shareId)
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

  /** Returns the link. Throws a problem if it is unknown, expired or revoked. */
  async #requireOpenLink(request: LinkRequest): Promise<OpenLink> {
    const { db, company, failedAttempts, clock } = this.#options
    const link = await readLink(db, request.params.token, {
      timeZone: company.timeZone,
      now: clock(),
    }).catch((cause: unknown) => {
      throw createQuoteUnavailableProblem(cause)
    })
    if (link.state === 'open') return link
    if (link.state !== 'unknown') throw createClosedLinkProblem(link.state, company.seller)
    // Counted after the query, so a known link always opens, even if others at the same address
    // have guessed too often.
    await failedAttempts.recordFailure(request)
    throw createUnknownLinkProblem()
  }

  /**
   * Reads and verifies the document of a cached result, unless this process has done that since
   * the row of the link last changed. Throws a problem if the document does not match its hash.
   */
  async #verify(request: LinkRequest, link: OpenLink): Promise<void> {
    if (this.#documents.verifiedLinks.has(link)) return
    await this.#runAndRecheckLink(request, () => this.#readDocument(request, link))
  }

  async #represent(request: LinkRequest, link: OpenLink): Promise<LinkResponse> {
    const representation = chooseRepresentation(request)
    if (representation === null) throw createNotAcceptableProblem()
    const language = getRequestedLanguage(request.query)
    const pdf = { contentHash: link.contentHash, status: link.status, language: language ?? null }
    if (representation === 'pdf')
      return buildPdfResponse(await this.#getPdfCountingFailures(request, link, pdf))
    const wanted: PageOrJson =
      representation === 'json'
        ? { kind: 'json' }
        : {
            kind: 'html',
            language,
            offersReplies: this.#options.offersReplies,
            offersPdf: !this.#pdfRenderer.hasFailed(pdf),
          }
    const content = await this.#getPage(request, link, wanted)
    return buildPageOrJsonResponse(request.headers, wanted, content)
  }

  async #getPage(
    request: LinkRequest,
    link: OpenLink,
    wanted: PageOrJson,
  ): Promise<EncodedContent> {
    const cached = this.#pageRenderer.getCached(link, wanted)
    if (cached) return cached
    return this.#runAndRecheckLink(request, async () => {
      if (isLarge(link)) return this.#renderLargePage(request, link, wanted)
      const document = await this.#readDocument(request, link)
      return this.#pageRenderer.renderSmall({ ...link, document }, wanted)
    })
  }

  #renderLargePage(
    { params, log }: LinkRequest,
    link: OpenLink,
    wanted: PageOrJson,
  ): Promise<EncodedContent> {
    const { databaseUrl, replica, replicaUrl } = this.#options
    return this.#pageRenderer.renderLarge(
      {
        token: params.token,
        link,
        wanted,
        databaseUrl,
        replicaUrl: replica?.isUsable() ? replicaUrl : null,
      },
      {
        onVerified: () => this.#documents.verifiedLinks.add(link),
        onFailure: (error) => logFailedRendering(log, link, error),
      },
    )
  }

  /**
   * Counts failures of the service. Errors of the caller are not counted, and neither are PDFs that
   * are not ready yet.
   */
  async #getPdfCountingFailures(
    request: LinkRequest,
    link: OpenLink,
    wanted: PdfVariant,
  ): Promise<Pdf> {
    try {
      return await this.#getPdf(request, link, wanted)
    } catch (error) {
      const isPending = error instanceof LinkProblem && error.page === 'rendering_pending'
      if (!isPending && !(error instanceof Problem && error.status < 500))
        this.#options.observer.countFailedPdf()
      throw error
    }
  }

  async #getPdf(request: LinkRequest, link: OpenLink, wanted: PdfVariant): Promise<Pdf> {
    const cached = this.#pdfRenderer.getCached(wanted)
    if (cached) return cached
    return this.#runAndRecheckLink(request, () =>
      this.#pdfRenderer.render(
        wanted,
        () => this.#readDocument(request, link),
        (error) => logFailedRendering(request.log, link, error),
      ),
    )
  }

  #readDocument({ params }: LinkRequest, link: OpenLink): Promise<string> {
    return this.#documents.read(params.token, link)
  }

  /**
   * Returns the result of `run`, which may take seconds, if the link is still open afterwards.
   * Throws a problem if `run` fails or the link was closed meanwhile.
   */
  async #runAndRecheckLink<Result>(
    request: LinkRequest,
    run: () => Promise<Result>,
  ): Promise<Result> {
    let result: Result
    try {
      result = await run()
    } catch (error) {
      // A document cannot be read after its link was closed. This throws the problem that says so.
      if (error instanceof DocumentNotReadError) await this.#requireOpenLink(request)
      throw this.#toProblem(error)
    }
    await this.#requireOpenLink(request)
    return result
  }

  /** Returns the problem for a failed read or rendering. Returns unexpected errors unchanged. */
  #toProblem(error: unknown): unknown {
    if (error instanceof AlteredDocumentError) return this.#reportAlteredDocument(error)
    if (error instanceof DocumentNotReadError)
      return createQuoteUnavailableProblem(error.cause ?? error)
    return error instanceof RenderingError ? createRenderingProblem(error) : error
  }

  /** Counts a document that does not match its hash, and returns the problem for it. */
  #reportAlteredDocument(error: AlteredDocumentError): Problem {
    this.#options.observer.countAlteredDocument()
    return createQuoteUnavailableProblem(error)
  }
}

/**
 * Logs a rendering as soon as it fails, because its request may already have got a response. Names
 * the link by its id, which scripts/share.ts lists.
 */
function logFailedRendering(log: LinkRequest['log'], { shareId }: OpenLink, error: unknown): void {
  log.error({ err: error, code: 'unavailable', shareId }, 'rendering failed')
}
