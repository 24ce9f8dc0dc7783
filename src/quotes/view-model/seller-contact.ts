// The seller on the letterhead and on error pages: name, initials, mail and phone.
import { buildMailLink, buildPhoneLink } from './contact-links.ts'

/** Returns the seller's name and how to write and call. `subject` is that of the mail. */
export function buildSellerContact(
  { legalName, email, phone }: { legalName: string; email: string; phone: string },
  subject?: string,
) {
  return {
    legalName,
    initials: getInitials(legalName),
    email: { text: email, href: buildMailLink(email, subject) },
    phone: { text: phone, href: buildPhoneLink(phone) },
  }
}

/**
 * Returns up to two initials of the capitalised words of a name: "Ferretería de Prueba, S.L." has
 * the initials FP. If no word is capitalised, all words count.
 */
function getInitials(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const capitalised = words.filter((word) => /^[\p{Lu}\p{Lo}\p{N}]/u.test(word))
  return (capitalised.length > 0 ? capitalised : words)
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0))
    .join('')
    .toUpperCase()
}
