// What a visitor gets instead of a quote, and why: the error pages, and one row for each reason.
//
// Several requests may wait for one rendering. RenderingCache therefore logs its failure at most
// once and sets `skipErrorLog`. The error handler of route.ts logs the failures without this mark.
import type { ProblemCode } from '../http/problem-details.ts'
import { timeouts } from '../timeouts.ts'

/**
 * The error pages. Their texts are in quote-texts/. `action` is the link on the page: none, to the
 * page or the PDF of the quote, or to the same URL again. No page reloads by itself, because that
 * would interrupt a screen reader (WCAG 2.2.1).
 */
export const errorPages = {
  not_found: { action: null },
  link_expired: { action: null },
  link_revoked: { action: null },
  rate_limited: { action: null },
  unavailable: { action: 'try-again' },
  not_acceptable: { action: 'open-page' },
  internal_error: { action: null },
  wrong_request: { action: null },
  pdf_unsupported: { action: 'open-page' },
  pdf_unavailable: { action: 'open-page' },
  page_too_large: { action: 'open-pdf' },
  rendering_pending: { action: 'try-again' },
} as const
export type ErrorPageName = keyof typeof errorPages

/**
 * The pages of problems that other parts of the service report, such as the rate limit. Problems
 * of the request itself, such as another method, share one page. It says to open the link as it was
 * received.
 */
export const pagesOfProblems: Record<ProblemCode, ErrorPageName> = {
  invalid_parameter: 'wrong_request',
  unauthenticated: 'wrong_request',
  insufficient_scope: 'wrong_request',
  not_found: 'not_found',
  method_not_allowed: 'wrong_request',
  not_acceptable: 'not_acceptable',
  link_expired: 'link_expired',
  link_revoked: 'link_revoked',
  misdirected_request: 'wrong_request',
  rate_limited: 'rate_limited',
  internal_error: 'internal_error',
  unavailable: 'unavailable',
}

type FailureRule = {
  /** The code of the response. problemKinds in http/problem-details.ts gives it a status. */
  code: ProblemCode
  /** Default: the page of the code. */
  page?: ErrorPageName
  /**
   * The page if the request was for a PDF. Default: `page`. The metric of failed PDFs counts only
   * failures with this page.
   */
  pdfPage?: ErrorPageName
  detail: string
  /** The response contains the seller's contact, which is public. */
  showsContact?: true
  /** The time after which a new request makes sense. */
  retryAfterMs?: number
  /**
   * The log contains an error: one for a failed rendering, and otherwise one for each request.
   * Without this, the failure appears only as `reason` in the log line of the request.
   */
  isLoggedAsError?: true
  /** When a rendering that failed in this way is tried again. Default: at the next request. */
  retryRendering?: 'after-pause' | 'never'
}

const unreadableRule: FailureRule = {
  code: 'unavailable',
  detail: 'The quote cannot be read at the moment. Try again in a moment.',
  retryAfterMs: timeouts.quotes.retryAfter.ms,
  isLoggedAsError: true,
}
const notRenderedRule: FailureRule = {
  code: 'unavailable',
  pdfPage: 'pdf_unavailable',
  detail:
    'This representation of the quote cannot be made at the moment. Try again later, or ' +
    'request another one.',
  retryAfterMs: timeouts.quotes.retryAfter.ms,
}
const notRenderedYetRule: FailureRule = {
  code: 'unavailable',
  page: 'rendering_pending',
  detail: 'This representation of the quote is being made. Request it again in a few seconds.',
  retryAfterMs: timeouts.quotes.pendingRetryAfter.ms,
}

const rules = {
  // These three are also the states of a link: requireOpen (links/link-access.ts) throws them. A
  // link is also unknown if its token is malformed, or if its quote was deleted or is a draft.
  unknown_link: { code: 'not_found', detail: 'There is no quote behind this link.' },
  link_expired: { code: 'link_expired', detail: 'This link has expired.', showsContact: true },
  link_revoked: { code: 'link_revoked', detail: 'This link was revoked.', showsContact: true },
  // The request accepts none of the formats of a quote.
  not_acceptable: {
    code: 'not_acceptable',
    detail:
      'A quote is available as text/html, application/json, application/pdf: request one of ' +
      'them in Accept or ?format=.',
  },
  // The link or its document cannot be read from the database.
  database_unreadable: unreadableRule,
  // The link is open and has no document.
  no_document: unreadableRule,
  // Somebody has changed the document or the hash of its link. The two do not match, or the hash is
  // another one than before.
  altered: unreadableRule,
  // No PDF can ever show this quote, because the fonts lack a character.
  pdf_unsupported: {
    code: 'not_acceptable',
    page: 'pdf_unsupported',
    detail:
      'This quote contains characters that its PDF cannot show correctly. Request text/html or ' +
      'application/json instead.',
    retryRendering: 'never',
  },
  // Any rendering error other than a QuoteFailure. For example, the document made it fail, the
  // process was killed because the machine has too little memory, or the code has a defect. The
  // rendering is tried again after a pause (rendering/failed-renderings.ts). Requests until then
  // get the same failure.
  rendering_failed: { ...notRenderedRule, isLoggedAsError: true, retryRendering: 'after-pause' },
  // The page or its JSON would have more than maxPageOrJsonBytes.
  rendering_too_large: {
    code: 'unavailable',
    page: 'page_too_large',
    detail: 'This representation of the quote is too large. Request another one.',
    isLoggedAsError: true,
    retryRendering: 'never',
  },
  // Too many other renderings wait. An error for each request would flood the log.
  queue_full: notRenderedRule,
  // The rendering process hardly ran, because the machine is busy. The document is not the cause.
  starved: { ...notRenderedRule, isLoggedAsError: true },
  // The rendering process cannot be started or reached, for example because the machine has no
  // memory left. The document is not the cause.
  process_unreachable: { ...notRenderedRule, isLoggedAsError: true },
  // The rendering takes longer than a request waits. It goes on, and a later request gets its
  // result.
  pending: notRenderedYetRule,
  // The service is stopping. Another process can render the quote.
  stopping: notRenderedYetRule,
} satisfies Record<string, FailureRule>

export type FailureReason = keyof typeof rules
export const failureRules: Record<FailureReason, FailureRule> = rules

/** The message is for the log. The visitor gets the row of `reason` in `failureRules`. */
export class QuoteFailure extends Error {
  readonly reason: FailureReason
  /** The time after which a new request makes sense. Null: no Retry-After is sent. */
  readonly retryAfterMs: number | null
  /** True for a failed rendering. RenderingCache has decided whether to log it. */
  readonly skipErrorLog: boolean

  constructor(
    reason: FailureReason,
    message: string = failureRules[reason].detail,
    {
      retryAfterMs = failureRules[reason].retryAfterMs ?? null,
      skipErrorLog = false,
      cause,
    }: {
      retryAfterMs?: number | null
      skipErrorLog?: boolean
      cause?: unknown
    } = {},
  ) {
    super(message, { cause })
    this.reason = reason
    this.retryAfterMs = retryAfterMs
    this.skipErrorLog = skipErrorLog
  }
}

/** Returns why a rendering failed. */
export function getRenderingFailureReason(error: unknown): FailureReason {
  return error instanceof QuoteFailure ? error.reason : 'rendering_failed'
}

/** Returns whether the error must be logged as an error. Any but a QuoteFailure is a defect. */
export function needsErrorLog(error: unknown): boolean {
  if (!(error instanceof QuoteFailure)) return true
  return failureRules[error.reason].isLoggedAsError === true && !error.skipErrorLog
}

/**
 * Returns whether a request for a PDF that ended with this error counts as a failed PDF. Failures
 * that the page of the quote has too, such as an altered document, do not count.
 */
export function isFailedPdf(error: unknown): boolean {
  return !(error instanceof QuoteFailure) || failureRules[error.reason].pdfPage !== undefined
}
