// The failures of quote links: one row for each reason why a request does not get its quote.
import type { ProblemCode } from '../http/problem-details.ts'
import { timeouts } from '../timeouts.ts'
import type { ErrorPageCode } from './quote-texts/quote-texts-type.ts'

/** What a visitor gets. problemKinds of http/problem-details.ts has the status of each `code`. */
type Failure = {
  code: ProblemCode
  page: ErrorPageCode
  detail: string
  /** The response has the seller's contact, which is public. */
  showsContact?: true
  /** The response says after which time a new request makes sense. */
  retryAfter?: { ms: number }
  /** Whether the service is the cause, and not the caller or a slow rendering. */
  isFault: boolean
  /** Why the response is not logged. False if it is logged. */
  skipsLogging: false | 'logged by the rendering queue' | 'not a failure'
  /**
   * What the rendering queue does if a rendering ends with this failure: nothing, log it, log it
   * and try again after a pause, or never try again.
   */
  afterRendering: 'ignore' | 'log' | 'log-and-pause' | 'never-retry'
}

const { retryAfter, pendingRetryAfter } = timeouts.quotes

/** The caller asked for something that is not there. It is found out before any rendering. */
const notAFault = { isFault: false, skipsLogging: false, afterRendering: 'ignore' } as const
const unreadable: Failure = {
  code: 'unavailable',
  page: 'unavailable',
  detail: 'The quote cannot be read at the moment. Try again in a moment.',
  retryAfter,
  isFault: true,
  skipsLogging: false,
  afterRendering: 'ignore',
}
const notRendered = {
  code: 'unavailable',
  page: 'rendering_unavailable',
  detail:
    'This representation of the quote cannot be made at the moment. Try again later, or ' +
    'request another one.',
  retryAfter,
  isFault: true,
} as const
const notReady: Failure = {
  code: 'unavailable',
  page: 'rendering_pending',
  detail: 'This representation of the quote is being made. Request it again in a few seconds.',
  retryAfter: pendingRetryAfter,
  isFault: false,
  skipsLogging: 'not a failure',
  afterRendering: 'ignore',
}

const rows = {
  // The link is unknown or malformed, or its quote was deleted or is a draft.
  unknown: {
    ...notAFault,
    code: 'not_found',
    page: 'not_found',
    detail: 'There is no quote behind this link.',
  },
  expired: {
    ...notAFault,
    code: 'link_expired',
    page: 'link_expired',
    detail: 'This link has expired.',
    showsContact: true,
  },
  revoked: {
    ...notAFault,
    code: 'link_revoked',
    page: 'link_revoked',
    detail: 'This link was revoked.',
    showsContact: true,
  },
  // The request accepts none of the formats of a quote.
  'not-acceptable': {
    ...notAFault,
    code: 'not_acceptable',
    page: 'not_acceptable',
    detail:
      'A quote is available as text/html, application/json, application/pdf: request one of ' +
      'them in Accept or ?format=.',
  },
  // The database cannot be read.
  'not-read': unreadable,
  // The link has no document. The reason is usually that it was closed meanwhile.
  'no-document': unreadable,
  // The document does not match the hash of its link: somebody changed it after it was shared.
  altered: unreadable,
  // No PDF can ever show this quote, because the fonts lack a character.
  refused: {
    ...notAFault,
    afterRendering: 'never-retry',
    code: 'not_acceptable',
    page: 'pdf_refused',
    detail:
      'This quote contains characters that its PDF cannot show correctly. Request text/html or ' +
      'application/json instead.',
  },
  // The document made the rendering fail, now or before. It may be tried again later.
  failed: {
    ...notRendered,
    skipsLogging: 'logged by the rendering queue',
    afterRendering: 'log-and-pause',
  },
  // Too many other renderings wait.
  'queue-full': { ...notRendered, skipsLogging: false, afterRendering: 'ignore' },
  // The rendering process hardly ran, because the machine is busy. The document is not the cause.
  starved: {
    ...notRendered,
    skipsLogging: 'logged by the rendering queue',
    afterRendering: 'log',
  },
  // The rendering takes longer than a request waits. It goes on, and a later request gets it.
  pending: notReady,
  // The service is stopping. Another process of the service can render the quote.
  stopping: notReady,
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

/** Returns the reason of an error. An unexpected error is a rendering that failed. */
export function getFailureReason(error: unknown): FailureReason {
  return error instanceof QuoteFailure ? error.reason : 'failed'
}
