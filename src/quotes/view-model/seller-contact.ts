// The seller on the letterhead and on error pages: name, initials, email address and phone.
import { getInitials } from '../../company/company-initials.ts'
import { buildMailLink, buildPhoneLink } from './contact-links.ts'

/** Returns the seller's name, initials, email and phone. `subject` is the subject of an email. */
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
