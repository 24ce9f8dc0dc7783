// What a visitor gets instead of a quote. `failureRules` has one row for each reason. A row names
// the code of the problem (JSON) and the error page (HTML), and says what the operator learns.
import type { ProblemCode } from '../http/problem-details.ts'
import type { QuoteTexts } from '../texts/en.ts'
import { textsByLanguage } from '../texts/languages.ts'

// A request that comes earlier than the rendering waits for it.
const pendingRetryAfterMs = 5_000
// Most connection failures end within a few seconds.
const retryAfterMs = 5_000
// The cause may be short, such as a busy machine. Each attempt may cost seconds.
export const failurePauseMs = 30_000

export type ErrorPageName = keyof QuoteTexts['errors']

/**
 * The link on an error page: to the page of the quote, or to the same URL again. No page reloads by
 * itself, because that would interrupt a screen reader (WCAG 2.2.1).
 */
export const errorPageActions: Partial<Record<ErrorPageName, 'try-again' | 'open-page'>> = {
  unavailable: 'try-again',
  pending: 'try-again',
  not_acceptable: 'open-page',
  pdf_unsupported: 'open-page',
  pdf_unavailable: 'open-page',
}

type FailureRule = {
  code: ProblemCode
  page: ErrorPageName
  /** The page if the request was for a PDF. Default: `page`. */
  pdfPage?: ErrorPageName
  detail: string
  /** The response contains the seller's contact, which is public. */
  showsContact?: true
  /** The time after which a new request makes sense. Default: no Retry-After is sent. */
  retryAfterMs?: number
  /**
   * Logged as an error: once for each failed rendering, otherwise once for each request. Without
   * this, the failure appears only as `reason` in the log line of the request.
   */
  isLoggedAsError?: true
  /** Counted in the metric of failed PDFs if the request was for a PDF. */
  countsAsFailedPdf?: true
  /** Later requests get the same failure for a while. Default: the next one renders. */
  isRemembered?: true
}

const cannotReadRule: FailureRule = {
  code: 'unavailable',
  page: 'unavailable',
  detail: 'The quote cannot be read at the moment. Try again in a moment.',
  retryAfterMs,
  isLoggedAsError: true,
}
const cannotRenderRule: FailureRule = {
  code: 'unavailable',
  page: 'unavailable',
  pdfPage: 'pdf_unavailable',
  detail:
    'This representation of the quote cannot be made at the moment. Try again later, or ' +
    'request another one.',
  retryAfterMs,
  countsAsFailedPdf: true,
}
const tryAgainSoonRule: FailureRule = {
  code: 'unavailable',
  page: 'pending',
  detail: 'This representation of the quote is being made. Request it again in a few seconds.',
  retryAfterMs: pendingRetryAfterMs,
}

const rules = {
  // These three are also the states of a link: requireOpen (links/read-link.ts) throws them. A
  // link is also unknown if its token is malformed, or if its quote was deleted or is a draft.
  unknown_link: {
    code: 'not_found',
    page: 'not_found',
    detail: 'There is no quote behind this link.',
  },
  link_expired: {
    code: 'link_expired',
    page: 'link_expired',
    detail: 'This link has expired.',
    showsContact: true,
  },
  link_revoked: {
    code: 'link_revoked',
    page: 'link_revoked',
    detail: 'This link was revoked.',
    showsContact: true,
  },
  // The request accepts none of the formats of a quote.
  not_acceptable: {
    code: 'not_acceptable',
    page: 'not_acceptable',
    detail:
      'A quote is available as text/html, application/json, application/pdf: request one of ' +
      'them in Accept or ?format=.',
  },
  // The link or its document cannot be read from the database.
  database_unreadable: cannotReadRule,
  // The link is open and has no document.
  no_document: cannotReadRule,
  // Somebody has changed the document or the hash of its link. The two do not match, or the hash
  // differs from the one that this process saw before.
  altered: cannotReadRule,
  // No PDF can ever show this quote, because the fonts lack a character.
  pdf_unsupported: {
    code: 'not_acceptable',
    page: 'pdf_unsupported',
    detail:
      'This quote contains characters that its PDF cannot show correctly. Request text/html or ' +
      'application/json instead.',
    isRemembered: true,
  },
  // Any rendering error other than a QuoteFailure. For example, the document made it fail, the
  // process was killed because the machine has too little memory, or the code has a defect.
  rendering_failed: {
    ...cannotRenderRule,
    retryAfterMs: failurePauseMs,
    isLoggedAsError: true,
    isRemembered: true,
  },
  // Too many other renderings wait. An error for each request would flood the log.
  queue_full: cannotRenderRule,
  // The rendering process cannot be started or reached, or hardly ran, for example because the
  // machine is busy or has no memory left. The document is not the cause.
  process_unreachable: { ...cannotRenderRule, isLoggedAsError: true },
  // The rendering takes longer than a request waits. It goes on, and a later request gets its
  // result.
  pending: tryAgainSoonRule,
  // The service is stopping. Another process can render the quote.
  stopping: tryAgainSoonRule,
} satisfies Record<string, FailureRule>

export type FailureReason = keyof typeof rules
export const failureRules: Record<FailureReason, FailureRule> = rules

/**
 * Returns the page of a problem that another part of the service reports, such as the rate limit.
 * Problems of the request itself, such as another method, share one page. It says to open the link
 * as it was received.
 */
export function getPageOfProblem(code: ProblemCode): ErrorPageName {
  return Object.hasOwn(textsByLanguage.en.quotes.errors, code)
    ? (code as ErrorPageName)
    : 'wrong_request'
}

export class QuoteFailure extends Error {
  readonly reason: FailureReason

  constructor(
    reason: FailureReason,
    message: string = failureRules[reason].detail,
    { cause }: { cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.reason = reason
  }
}

/**
 * Thrown to every request that waited for a failed rendering, or that came before the next attempt
 * is allowed. The renderer (rendering/quote-renderer.ts) has already logged the failure if it needed
 * a line, so the route must not log it again.
 */
export class HandledFailure extends QuoteFailure {}

export function getRenderingFailureReason(error: unknown): FailureReason {
  return error instanceof QuoteFailure ? error.reason : 'rendering_failed'
}

/**
 * Returns whether to log an error. Any error that is not a QuoteFailure is a defect and is always
 * logged.
 */
export function needsErrorLog(error: unknown): boolean {
  if (error instanceof HandledFailure) return false
  return !(error instanceof QuoteFailure) || failureRules[error.reason].isLoggedAsError === true
}

export function isFailedPdf(error: unknown): boolean {
  return !(error instanceof QuoteFailure) || failureRules[error.reason].countsAsFailedPdf === true
}
