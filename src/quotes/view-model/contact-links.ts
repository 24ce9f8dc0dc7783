// Builds links to a website, an email address and a phone number from untrusted text, and those
// with which a customer replies by email.

import { type Language, textsByLanguage } from '../../texts/languages.ts'
import { toPlainText, truncatePlainText } from '../formats.ts'
import { isCounted, type LinkedQuote } from '../schema.ts'

const maxSubjectLength = 200
/** Mail programs accept about 2,000 characters of a link. */
const maxBodyLength = 1_000

/** Returns a link to a website, or null if the text is not an http or https URL. */
export function buildWebsiteLink(website: string): string | null {
  const url = URL.parse(toPlainText(website))
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null
}

/**
 * Returns a mailto link, or null for an invalid address. Subject and body are on one line each, and
 * cut if they are long.
 */
export function buildMailLink(address: string, subject?: string, body?: string): string | null {
  const [, name, host] = /^([^@\s]+)@([^@\s]+)$/.exec(toPlainText(address)) ?? []
  if (name === undefined || host === undefined) return null
  // Encoded, because a line break in a subject would begin another header.
  const encode = (text: string, maxLength: number) =>
    encodeURIComponent(truncatePlainText(text, maxLength))
  const fields: string[] = []
  if (subject !== undefined) fields.push(`subject=${encode(subject, maxSubjectLength)}`)
  if (body !== undefined) fields.push(`body=${encode(body, maxBodyLength)}`)
  const query = fields.length > 0 ? `?${fields.join('&')}` : ''
  return `mailto:${encodeURIComponent(name)}@${encodeURIComponent(host)}${query}`
}

/**
 * Returns a tel link. Returns null if the text contains more than a number, for example "ext. 12",
 * or no digit.
 */
export function buildPhoneLink(phone: string): string | null {
  const text = toPlainText(phone)
  const isNumber = /^\+?[\d\s().-]{3,}$/.test(text) && /\d/.test(text)
  return isNumber ? `tel:${text.replace(/[^+\d]/g, '')}` : null
}

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
  const { reply } = textsByLanguage[language].quotes
  const buildLink = (isMain: boolean, label: string, subject: string, body?: string) => {
    const href = buildMailLink(seller.email, subject, body)
    return href === null ? null : { label, href, isMain }
  }
  const links = [buildLink(false, reply.ask, reply.askSubject(number))]
  const canBeAccepted =
    document.lines.some(isCounted) && !document.totals.gross.amount.startsWith('-')
  if (status === 'sent') {
    const body = reply.acceptBody(number, String(version), total)
    if (canBeAccepted)
      links.unshift(buildLink(true, reply.accept, reply.acceptSubject(number), body))
  } else if (status !== 'accepted')
    links.unshift(buildLink(true, reply.renew, reply.renewSubject(number)))
  return links.filter((link) => link !== null)
}
