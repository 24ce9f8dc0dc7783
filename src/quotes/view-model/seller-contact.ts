// The seller on the letterhead and on error pages: name, initials, mail and phone.
import { buildMailLink, buildPhoneLink } from './contact-links.ts'

/** Returns the seller's name, initials, mail and phone. A mail starts with the `subject`. */
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
 * Returns the initials of the first two capitalised words of a name: FP for "Ferretería de Prueba,
 * S.L.". If no word is capitalised, all words count.
 */
function getInitials(name: string): string {
  // Scripts without upper case (Lo) and digits count as capitalised.
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const capitalised = words.filter((word) => /^[\p{Lu}\p{Lo}\p{N}]/u.test(word))
  return (capitalised.length > 0 ? capitalised : words)
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0))
    .join('')
    .toUpperCase()
}
