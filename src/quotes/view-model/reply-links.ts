// The links with which a customer replies by email: accept, ask, or ask for an updated quote.
import type { Language } from '../../company/languages.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { LinkedQuote } from '../schema.ts'
import { buildMailLink } from './contact-links.ts'

/** `isMain`: what most customers will want to do next. */
export type ReplyLink = { label: string; href: string; isMain: boolean }

/**
 * Returns the links that fit the status of the quote. Returns none if the seller's email address is
 * not valid. `total` is formatted.
 */
export function buildReplyLinks(
  { status, document }: Pick<LinkedQuote, 'status' | 'document'>,
  total: string,
  language: Language,
): ReplyLink[] {
  const { number, version, seller } = document
  const { reply } = quoteTexts[language]
  const buildLink = (isMain: boolean, label: string, subject: string, body?: string) => {
    const href = buildMailLink(seller.email, subject, body)
    return href === null ? null : { label, href, isMain }
  }
  const links = [buildLink(false, reply.ask, reply.askSubject(number))]
  if (status === 'sent') {
    const body = reply.acceptBody(number, String(version), total)
    links.unshift(buildLink(true, reply.accept, reply.acceptSubject(number), body))
  } else if (status !== 'accepted')
    links.unshift(buildLink(true, reply.renew, reply.renewSubject(number)))
  return links.filter((link) => link !== null)
}
