// Answers a request for a quote link: checks that the link is open, and returns its quote as page,
// JSON or PDF.
import type { IncomingHttpHeaders } from 'node:http'
import type { Kysely } from 'kysely'
import pLimit from 'p-limit'
import { defaultBrand } from '../company/brand.ts'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import type { FailedAttemptLimit } from '../rate-limits/failed-attempt-limit.ts'
import { buildPageOrJsonAnswer, buildPdfAnswer, type LinkAnswer } from './link-answers.ts'
import {
  createClosedLinkProblem,
  createNotAcceptableProblem,
  createPdfRefusedProblem,
  createQuoteUnavailableProblem,
  createRenderingUnavailableProblem,
  createUnknownLinkProblem,
} from './links/link-problems.ts'
import { chooseRepresentation } from './page-json-or-pdf.ts'
import type { Pdf, PdfRequest } from './pdf/pdf-messages.ts'
import { PdfRenderer } from './pdf/pdf-renderer.ts'
import {
  AlteredDocumentError,
  type OpenLink,
  readDocument,
  readLink,
  readReplicatedDocument,
} from './read-shared-quote.ts'
import type { EncodedContent } from './rendering/encoded-content.ts'
import type { LargePageRequest } from './rendering/large-page-worker.ts'
import type { PageOrJson } from './rendering/page-or-json.ts'
import { isLarge, PageRenderer } from './rendering/page-renderer.ts'
import {
  DocumentNotReadError,
  RenderingRefusedError,
  RenderingUnavailableError,
} from './rendering/rendering-queue.ts'
import { getRequestedLanguage } from './requested-language.ts'
import { VerifiedLinks } from './verified-links.ts'
import { createViewCounter, isHumanView } from './view-counter.ts'

export type QuoteOptions = {
  db: Kysely<Tables>
  /** The address of the same database, for the process that reads large documents. */
  databaseUrl: string
  /** Documents are read from it if possible. Whether a link is open is read from the primary. */
  replica: Replica | null
  replicaUrl: string | null
  company: Company
  /** The limit on requests for unknown links. It never refuses a good link. */
  failedAttempts: FailedAttemptLimit
  countViews: boolean
  /** Whether pages have links that write a mail to the seller. */
  offersReplies: boolean
  observer: { countAlteredDocument(): void; countFailedPdf(): void }
  clock: () => Date
}

/**
 * Documents that are read at the same time in the main thread, for PDFs and small pages. The driver
 * takes 3 ms for a document of 2,000 lines, so that many at once would delay other requests.
 */
const maxConcurrentReads = 2

export type LinkRequest = {
  method: string
  ip: string
  headers: IncomingHttpHeaders
  query: unknown
  params: { token: string }
  /** Counts the request for a link. Throws a problem if there were too many. */
  countLinkRequest(linkId: string): Promise<void>
}

/** Checks that a link is open and returns its quote in the requested representation. */
export class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #limitReads = pLimit(maxConcurrentReads)
  readonly #verifiedLinks = new VerifiedLinks()
  readonly #pageRenderer: PageRenderer
  readonly #pdfRenderer: PdfRenderer
  readonly #countView: ((shareId: string) => void) | null

  constructor(options: QuoteOptions) {
    const { brand = defaultBrand } = options.company
    this.#options = options
    const { databaseUrl, replicaUrl } = options
    this.#pageRenderer = new PageRenderer(brand, { databaseUrl, replicaUrl })
    this.#pdfRenderer = new PdfRenderer({ brand })
    this.#countView = options.countViews ? createViewCounter(options.db) : null
  }

  /** Returns the quote in the requested representation. Throws a problem if there is none. */
  async answer(request: LinkRequest): Promise<LinkAnswer> {
    const link = await this.#requireOpenLink(request)
    await request.countLinkRequest(link.shareId)
    if (this.#verifiedLinks.hadOtherHash(link))
      await this.#rejectUnread(request, new AlteredDocumentError(describeOtherHash(link)))
    const answer = await this.#represent(request, link)
    await this.#verify(request, link)
    if (isHumanView(request)) this.#countView?.(link.shareId)
    return answer
  }

  close(): void {
    this.#pdfRenderer.close()
    this.#pageRenderer.close()
  }

  /**
   * Returns the link, or throws a problem if it is not open. Cached content is checked in the same
   * way.
   */
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
    // Counted after the look-up, so that guesses of others at this address never close a good link.
    await failedAttempts.recordFailure(request)
    throw createUnknownLinkProblem()
  }

  /** Returns the document of an open link, which matches its hash. */
  async #readDocument({ params }: LinkRequest, link: OpenLink): Promise<string> {
    try {
      const { db, replica } = this.#options
      const document = await this.#limitReads(
        async () =>
          (await replica?.read('document', () =>
            readReplicatedDocument(replica.db, params.token, link),
          )) ?? readDocument(db, params.token, link),
      )
      if (document !== null) {
        this.#verifiedLinks.add(link)
        return document
      }
    } catch (cause) {
      throw new DocumentNotReadError('The document was not read.', { cause })
    }
    throw new DocumentNotReadError(`Link ${link.shareId} has no document.`)
  }

  /**
   * Reads the document of a link whose rendering came from the cache, unless its row is the one
   * that was verified. Throws a problem if the document does not match its hash.
   */
  async #verify(request: LinkRequest, link: OpenLink): Promise<void> {
    if (this.#verifiedLinks.has(link)) return
    await this.#whileOpen(request, () => this.#readDocument(request, link))
  }

  /** Throws the problem of a document that could not be read. */
  async #rejectUnread(request: LinkRequest, cause: unknown): Promise<never> {
    if (cause instanceof AlteredDocumentError) this.#options.observer.countAlteredDocument()
    // The link may have been closed after it was read. Then this throws the problem that says so.
    else await this.#requireOpenLink(request)
    throw createQuoteUnavailableProblem(cause)
  }

  async #represent(request: LinkRequest, link: OpenLink): Promise<LinkAnswer> {
    const representation = chooseRepresentation(request)
    if (representation === null) throw createNotAcceptableProblem()
    const language = getRequestedLanguage(request.query)
    const pdf = { contentHash: link.contentHash, status: link.status, language: language ?? null }
    if (representation === 'pdf')
      return buildPdfAnswer(await this.#getCountedPdf(request, link, pdf))
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
    return buildPageOrJsonAnswer(request.headers, wanted, content)
  }

  async #getPage(
    request: LinkRequest,
    link: OpenLink,
    wanted: PageOrJson,
  ): Promise<EncodedContent> {
    const pages = this.#pageRenderer
    const { token } = request.params
    return (
      pages.getCached(link, wanted) ??
      this.#whileOpen(
        request,
        async () =>
          (await pages.findPending(link, wanted)) ??
          (isLarge(link)
            ? this.#renderLarge({ token, link, wanted })
            : pages.render({ ...link, document: await this.#readDocument(request, link) }, wanted)),
      )
    )
  }

  #renderLarge(request: Omit<LargePageRequest, 'usesReplica'>): Promise<EncodedContent> {
    const { replica } = this.#options
    return this.#pageRenderer.renderLarge(
      { ...request, usesReplica: replica?.isUsable() ?? false },
      {
        onVerified: () => this.#verifiedLinks.add(request.link),
        onReplicaRead: (outcome) => replica?.countRead('document', outcome),
      },
    )
  }

  /** Counts a PDF that the service could not render, and not what a caller did wrong. */
  async #getCountedPdf(
    request: LinkRequest,
    link: OpenLink,
    wanted: Omit<PdfRequest, 'document'>,
  ): Promise<Pdf> {
    try {
      return await this.#getPdf(request, link, wanted)
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500)
        this.#options.observer.countFailedPdf()
      throw error
    }
  }

  async #getPdf(
    request: LinkRequest,
    link: OpenLink,
    wanted: Omit<PdfRequest, 'document'>,
  ): Promise<Pdf> {
    const pdfs = this.#pdfRenderer
    return (
      pdfs.getCached(wanted) ??
      this.#whileOpen(
        request,
        async () =>
          (await pdfs.findPending(wanted)) ??
          pdfs.render(wanted, () => this.#readDocument(request, link)),
      )
    )
  }

  /** Waits for a rendering. Throws a problem if the link was closed meanwhile. */
  async #whileOpen<Rendering>(
    request: LinkRequest,
    render: () => Promise<Rendering>,
  ): Promise<Rendering> {
    const rendering = await render().catch((cause: unknown) => {
      if (cause instanceof DocumentNotReadError)
        return this.#rejectUnread(request, cause.cause ?? cause)
      if (cause instanceof RenderingRefusedError) throw createPdfRefusedProblem()
      if (cause instanceof RenderingUnavailableError) throw createRenderingUnavailableProblem(cause)
      throw cause
    })
    await this.#requireOpenLink(request)
    return rendering
  }
}

function describeOtherHash({ shareId }: OpenLink): string {
  return `Link ${shareId} has another hash than before.`
}
