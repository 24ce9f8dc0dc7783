// Turns the failures of quote links into problems, which are sent as error pages or JSON.
import type { Seller } from '../../company/company.ts'
import { Problem } from '../../http/problem-details.ts'
import { failures, type QuoteFailure } from '../failures.ts'
import type { ErrorPageCode } from '../quote-texts/quote-texts-type.ts'

/** The problem of a failure. Its cause is logged and not sent. */
export class LinkProblem extends Problem {
  readonly page: ErrorPageCode
  readonly showsContact: boolean

  constructor(failure: QuoteFailure, { legalName, email, phone }: Seller) {
    const { reason, retryAfterMs, cause = failure } = failure
    const { code, page, detail, showsContact = false, skipsLogging } = failures[reason]
    const contact = showsContact ? ` Ask ${legalName} for a new one: ${email}, ${phone}.` : ''
    super(code, detail + contact, {
      cause,
      skipLogging: skipsLogging !== false,
      ...(retryAfterMs !== undefined && {
        headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
      }),
    })
    this.page = page
    this.showsContact = showsContact
  }
}
