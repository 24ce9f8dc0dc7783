// Builds the values that the page and the PDF of a quote show, formatted in one language.

import type { Language } from '../../company/languages.ts'
import { formatDate, formatInstant } from '../formats/date-formats.ts'
import { formatIban } from '../formats/iban-format.ts'
import { formatMoney } from '../formats/number-formats.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { QuoteDocument, SharedQuote } from '../schema.ts'
import { buildWebsiteLink } from './contact-links.ts'
import { buildLegalTexts } from './legal-texts.ts'
import { buildLineColumns, buildLineRow } from './line-table.ts'
import { buildSellerContact } from './seller-contact.ts'
import { buildSepaQrCode } from './sepa-qr-code.ts'
import { buildStatusBanner } from './status-banner.ts'
import { buildTotalRows, chooseTaxLabel } from './total-rows.ts'
import { buildTerms } from './trade-and-payment-terms.ts'

export type QuoteViewModel = ReturnType<typeof buildQuoteViewModel>

/** A quote that can no longer be accepted shows no bank account, so nobody pays it. */
const payableStatuses: SharedQuote['status'][] = ['sent', 'accepted']

/**
 * Returns a quote with all values formatted. Missing values are null. The bank account of a
 * rejected, expired or superseded quote is null too.
 */
export function buildQuoteViewModel(shared: SharedQuote, language: Language) {
  const { status, link, contentHash, document } = shared
  const texts = quoteTexts[language]
  const lines = document.lines.map((line) => buildLineRow(line, language))
  return {
    language,
    /** The language of the document, or null if it is the language of the page. */
    documentLanguage: document.language === language ? null : document.language,
    texts,
    number: document.number,
    version: String(document.version),
    /** The text that this version replaces earlier ones, or null for the first version. */
    replaces: document.version > 1 ? texts.replaces : null,
    issuedOn: buildDate(document.issuedOn, language),
    // Another version replaces a superseded quote, so its validity would mislead.
    validUntil:
      document.validUntil === null || status === 'superseded'
        ? null
        : buildDate(document.validUntil, language),
    banner: buildStatusBanner(status, document.validUntil, language),
    seller: buildSeller(document, language),
    buyer: hasBuyer(document.buyer) ? document.buyer : null,
    columns: buildLineColumns(lines, chooseTaxLabel(document.totals, language), language),
    lines,
    totals: buildTotalRows(document.totals, language),
    terms: buildTerms(document, language),
    bank: payableStatuses.includes(status) ? buildBankAccount(document.seller.bank) : null,
    sepaQrCode: buildSepaQrCode(shared),
    notes: document.notes,
    legal: buildLegalTexts(document, language),
    contentHash,
    linkExpires:
      link.expiresAt === null ? null : texts.linkExpires(formatInstant(link.expiresAt, language)),
    gross: formatMoney(document.totals.gross, language),
  }
}

function buildDate(date: string, language: Language) {
  return { date, text: formatDate(date, language) }
}

function buildSeller({ seller, number }: QuoteDocument, language: Language) {
  const { taxId, address, website } = seller
  return {
    ...buildSellerContact(seller, `${quoteTexts[language].quote} ${number}`),
    taxId,
    address,
    website: website === null ? null : { text: website, href: buildWebsiteLink(website) },
  }
}

function hasBuyer(buyer: QuoteDocument['buyer']): boolean {
  return Object.values(buyer).some((text) => text !== null)
}

function buildBankAccount(bank: QuoteDocument['seller']['bank']) {
  return bank && { holder: bank.holder, iban: formatIban(bank.iban), bic: bank.bic }
}
