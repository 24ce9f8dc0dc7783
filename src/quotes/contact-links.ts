// Text that others wrote, made fit to be shown and linked. Escaping for HTML is the template engine's part.

// C0 and C1 controls but tab and line breaks, and the embeddings, overrides and isolates that reorder what is read (U+202A–E, U+2066–9).
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is controls that must go
const steering = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** The text without characters that steer instead of show: controls, bidi controls, lone surrogates (shown as U+FFFD). */
export function plainText(text: string): string {
  return text.toWellFormed().replace(steering, '')
}

/** A link to a website; null for whatever is not http or https. */
export function websiteLink(website: string): string | null {
  const url = URL.parse(plainText(website))
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null
}

/** A link that starts a mail about a subject; null for what is no address. */
export function mailLink(address: string, subject?: string): string | null {
  const [, name, host] = /^([^@\s]+)@([^@\s]+)$/.exec(plainText(address)) ?? []
  if (name === undefined || host === undefined) return null
  const query = subject === undefined ? '' : `?subject=${encodeURIComponent(plainText(subject))}`
  return `mailto:${encodeURIComponent(name)}@${encodeURIComponent(host)}${query}`
}

/** A link that calls a number; null where there is more than a number, such as an extension. */
export function phoneLink(phone: string): string | null {
  const text = plainText(phone)
  return /^\+?[\d\s().-]{3,}$/.test(text) ? `tel:${text.replace(/[^+\d]/g, '')}` : null
}
