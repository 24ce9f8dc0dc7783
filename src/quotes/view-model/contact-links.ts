// Builds the links to a website, an email address and a phone number from untrusted text.
import { toPlainText, truncatePlainText } from './plain-text.ts'

/** Returns a link to a website, or null if the text is not an http or https URL. */
export function buildWebsiteLink(website: string): string | null {
  const url = URL.parse(toPlainText(website))
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null
}

/** Returns a mailto link with an optional subject and text, or null for an invalid address. */
export function buildMailLink(address: string, subject?: string, body?: string): string | null {
  const [, name, host] = /^([^@\s]+)@([^@\s]+)$/.exec(toPlainText(address)) ?? []
  if (name === undefined || host === undefined) return null
  const fields = Object.entries({ subject, body }).flatMap(([field, text]) =>
    // Encoded, because a line break in a subject would begin another header.
    text === undefined ? [] : [`${field}=${encodeURIComponent(truncatePlainText(text, 300))}`],
  )
  const query = fields.length > 0 ? `?${fields.join('&')}` : ''
  return `mailto:${encodeURIComponent(name)}@${encodeURIComponent(host)}${query}`
}

/** Returns a tel link, or null if the text contains more than a number, for example "ext. 12". */
export function buildPhoneLink(phone: string): string | null {
  const text = toPlainText(phone)
  return /^\+?[\d\s().-]{3,}$/.test(text) ? `tel:${text.replace(/[^+\d]/g, '')}` : null
}
