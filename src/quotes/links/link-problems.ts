// The error responses of quote links.
import type { Seller } from '../../company/company.ts'
import { Problem } from '../../http/problem-details.ts'
import { timeouts } from '../../timeouts.ts'
import { mediaTypes } from '../choose-representation.ts'
import type { ErrorPageCode } from '../quote-texts/quote-texts-type.ts'
import type { RenderingError } from '../rendering/rendering-error.ts'

/** A problem that is shown on an error page of its own. */
export class LinkProblem extends Problem {
  readonly page: ErrorPageCode

  constructor(page: ErrorPageCode, ...parameters: ConstructorParameters<typeof Problem>) {
    super(...parameters)
    this.page = page
  }
}

/** Returns the 404 of unknown and malformed links, drafts and deleted quotes. */
export function createUnknownLinkProblem(): Problem {
  return new Problem('not_found', 'There is no quote behind this link.')
}

/**
 * Returns the 410 of an expired or revoked link. It contains the seller's contact, which is public,
 * and nothing of the quote.
 */
export function createClosedLinkProblem(
  state: 'expired' | 'revoked',
  { legalName, email, phone }: Pick<Seller, 'legalName' | 'email' | 'phone'>,
): Problem {
  const reason = state === 'expired' ? 'has expired' : 'was revoked'
  return new Problem(
    `link_${state}`,
    `This link ${reason}. Ask ${legalName} for a new one: ${email}, ${phone}.`,
  )
}

/** Returns the 406 for a format that a quote does not have. */
export function createNotAcceptableProblem(): Problem {
  const choices = Object.values(mediaTypes).join(', ')
  return new Problem(
    'not_acceptable',
    `A quote is available as ${choices}: request one of them in Accept or ?format=.`,
  )
}

/** Returns the 503 for a failed query. `cause` is logged and not sent. */
export function createQuoteUnavailableProblem(cause: unknown): Problem {
  return createUnavailableProblem(
    'The quote cannot be read at the moment. Try again in a moment.',
    cause,
  )
}

/** Returns the 503 for a PDF or large page that cannot be rendered now, or 406 if never. */
export function createRenderingProblem(error: RenderingError): Problem {
  const { reason, retryAfterMs } = error
  if (reason === 'refused') return createPdfRefusedProblem()
  const isPending = reason === 'pending' || reason === 'stopping'
  const detail = isPending
    ? 'This representation of the quote is being made. Request it again in a few seconds.'
    : 'This representation of the quote cannot be made at the moment. Try again later, or ' +
      'request another one.'
  return createUnavailableProblem(detail, error, {
    retryAfterMs,
    // Failures were logged when they happened.
    skipLogging: reason !== 'queue-full',
    page: isPending ? 'rendering_pending' : 'rendering_unavailable',
  })
}

/** Returns the 406 for a quote with characters that no PDF can show. */
function createPdfRefusedProblem(): Problem {
  return new LinkProblem(
    'pdf_refused',
    'not_acceptable',
    'This quote contains characters that its PDF cannot show correctly. Request text/html or ' +
      'application/json instead.',
  )
}

function createUnavailableProblem(
  detail: string,
  cause: unknown,
  {
    retryAfterMs = timeouts.quotes.retryAfter.ms,
    skipLogging = false,
    page = 'unavailable' as ErrorPageCode,
  } = {},
): Problem {
  const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
  return new LinkProblem(page, 'unavailable', detail, { headers, cause, skipLogging })
}
