// What a visitor gets instead of a quote: one row for each reason, and the error pages.
import type { ProblemCode } from '../http/problem-details.ts'
import { timeouts } from '../timeouts.ts'

/**
 * The error pages. A page that also shows problems of other parts has the name of their code
 * (describeProblem). Each has a link: none, to the page of the quote, or to the same
 * address. quote-texts/ has their texts. No page reloads by itself, because that would interrupt a
 * screen reader (WCAG 2.2.1).
 */
export const errorPages = {
  not_found: { action: null },
  link_expired: { action: null },
  link_revoked: { action: null },
  rate_limited: { action: null },
  unavailable: { action: null },
  not_acceptable: { action: 'open-page' },
  internal_error: { action: null },
  invalid_parameter: { action: null },
  pdf_refused: { action: 'open-page' },
  rendering_unavailable: { action: 'open-page' },
  rendering_pending: { action: 'try-again' },
} as const
export type ErrorPageName = keyof typeof errorPages

type Failure = {
  /** problemKinds of http/problem-details.ts has its status. */
  code: ProblemCode
  page: ErrorPageName
  detail: string
  /** The response has the seller's contact, which is public. */
  showsContact?: true
  /**
   * After which time a new request makes sense. A reference into timeouts.ts, not a copy, because
   * tests change its `ms`.
   */
  retryAfter?: { ms: number }
  /**
   * Who logs it as an error: each request, or the rendering once for all its requests. Nobody does
   * if the service is not the cause.
   */
  loggedBy: 'request' | 'rendering' | 'nobody'
  /** When a rendering that ended with it is tried again. Default: at the next request. */
  retryRendering?: 'after-pause' | 'never'
}

const { retryAfter, pendingRetryAfter } = timeouts.quotes

const unreadable: Failure = {
  code: 'unavailable',
  page: 'unavailable',
  detail: 'The quote cannot be read at the moment. Try again in a moment.',
  retryAfter,
  loggedBy: 'request',
}
const notRendered = {
  code: 'unavailable',
  page: 'rendering_unavailable',
  detail:
    'This representation of the quote cannot be made at the moment. Try again later, or ' +
    'request another one.',
  retryAfter,
} as const
const tryAgainSoon: Failure = {
  code: 'unavailable',
  page: 'rendering_pending',
  detail: 'This representation of the quote is being made. Request it again in a few seconds.',
  retryAfter: pendingRetryAfter,
  loggedBy: 'nobody',
}

const rows = {
  // The first three are also the states of a link (links/read-link.ts).
  // The link is unknown or malformed, or its quote was deleted or is a draft.
  unknown: {
    code: 'not_found',
    page: 'not_found',
    detail: 'There is no quote behind this link.',
    loggedBy: 'nobody',
  },
  expired: {
    code: 'link_expired',
    page: 'link_expired',
    detail: 'This link has expired.',
    showsContact: true,
    loggedBy: 'nobody',
  },
  revoked: {
    code: 'link_revoked',
    page: 'link_revoked',
    detail: 'This link was revoked.',
    showsContact: true,
    loggedBy: 'nobody',
  },
  // The request accepts none of the formats of a quote.
  'not-acceptable': {
    code: 'not_acceptable',
    page: 'not_acceptable',
    detail:
      'A quote is available as text/html, application/json, application/pdf: request one of ' +
      'them in Accept or ?format=.',
    loggedBy: 'nobody',
  },
  // The database cannot be read.
  'database-unreadable': unreadable,
  // The link has no document. The reason is usually that it was closed meanwhile.
  'no-document': unreadable,
  // The document does not match the hash of its link: somebody changed it after it was shared.
  altered: unreadable,
  // No PDF can ever show this quote, because the fonts lack a character.
  'pdf-unsupported': {
    code: 'not_acceptable',
    page: 'pdf_refused',
    detail:
      'This quote contains characters that its PDF cannot show correctly. Request text/html or ' +
      'application/json instead.',
    loggedBy: 'nobody',
    retryRendering: 'never',
  },
  // The document made the rendering fail, now or before. It may be tried again later.
  'rendering-failed': { ...notRendered, loggedBy: 'rendering', retryRendering: 'after-pause' },
  // Too many other renderings wait.
  'queue-full': { ...notRendered, loggedBy: 'request' },
  // The rendering process hardly ran, because the machine is busy. The document is not the cause.
  starved: { ...notRendered, loggedBy: 'rendering' },
  // The rendering takes longer than a request waits. It goes on, and a later request gets it.
  pending: tryAgainSoon,
  // The service is stopping. Another process of the service can render the quote.
  stopping: tryAgainSoon,
} satisfies Record<string, Failure>

export type FailureReason = keyof typeof rows
export const failures: Record<FailureReason, Failure> = rows

/** The message is for the log. The visitor gets the row of `reason` in `failures`. */
export class QuoteFailure extends Error {
  readonly reason: FailureReason
  /** The time after which a new request makes sense, if there is one. */
  readonly retryAfterMs: number | undefined

  constructor(
    reason: FailureReason,
    message: string = failures[reason].detail,
    {
      retryAfterMs = failures[reason].retryAfter?.ms,
      cause,
    }: { retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Returns the reason of an error. An unexpected one counts as a rendering that failed, so that it
 * is logged, and is not repeated with every request.
 */
export function getFailureReason(error: unknown): FailureReason {
  return error instanceof QuoteFailure ? error.reason : 'rendering-failed'
}
