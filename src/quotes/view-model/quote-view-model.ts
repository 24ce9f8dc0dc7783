// The values that the page and the PDF of a quote show, formatted in one language. Both templates
// read them: quote-page-template.eta and pdf-template.typ.
import type { Language } from '../../company/languages.ts'
import { formatDate, formatInstant } from '../formats/date-formats.ts'
import { formatMoney } from '../formats/number-formats.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { QuoteTexts } from '../quote-texts/quote-texts-type.ts'
import type { LinkedQuote, QuoteDocument } from '../schema.ts'
import { type BankAccount, buildBankAccount } from './bank-account.ts'
import { buildWebsiteLink } from './contact-links.ts'
import { buildLegalTexts, type ShownLegalText } from './legal-texts.ts'
import { buildLineColumns, buildLineRow, type LineColumn, type LineRow } from './line-table.ts'
import { buildSellerContact } from './seller-contact.ts'
import { buildSepaQrCode, type QrCode } from './sepa-qr-code.ts'
import { buildStatusBanner } from './status-banner.ts'
import { buildTotalRows, chooseTaxLabel, type TotalRow } from './total-rows.ts'
import { buildTerms } from './trade-and-payment-terms.ts'

/** Missing values are null. All other values are formatted in `language`. */
export type QuoteViewModel = {
  language: Language
  /** The language of the document, or null if it is `language`. */
  documentLanguage: Language | null
  /** The texts of `language`. The template of the PDF gets those that are not functions. */
  texts: QuoteTexts
  number: string
  version: string
  /** A sentence saying that this version replaces earlier ones. Null for the first version. */
  replaces: string | null
  /** `date` is YYYY-MM-DD. */
  issuedOn: { date: string; text: string }
  /** Null for a superseded quote too. Another version replaces it, so this date would mislead. */
  validUntil: { date: string; text: string } | null
  /** Null for a sent quote. */
  banner: { status: LinkedQuote['status']; label: string; explanation: string } | null
  seller: {
    legalName: string
    initials: string
    taxId: string
    address: string
    email: LinkedText
    phone: LinkedText
    website: LinkedText | null
  }
  /** Null if the document says nothing about the buyer. */
  buyer: QuoteDocument['buyer'] | null
  /** The columns of numbers that the lines use, from left to right. */
  columns: LineColumn[]
  lines: LineRow[]
  totals: TotalRow[]
  terms: { label: string; text: string }[]
  /** Null if the quote shows none (bank-account.ts). */
  bank: BankAccount | null
  /** Null if the quote is not accepted, or no SEPA transfer can pay it. */
  sepaQrCode: QrCode | null
  notes: string | null
  /** `language` is null if it is the language of the page. */
  legal: { texts: ShownLegalText[]; language: Language | null }
  contentHash: string
  /** The sentence that says until when the link works, or null if it does not expire. */
  linkExpires: string | null
  gross: string
}

/** `href` is null if the text is not a valid address or number. */
type LinkedText = { text: string; href: string | null }

/** Returns a quote with all values formatted. */
export function buildQuoteViewModel(linkedQuote: LinkedQuote, language: Language): QuoteViewModel {
  const { status, link, contentHash, document } = linkedQuote
  const texts = quoteTexts[language]
  const lines = document.lines.map((line) => buildLineRow(line, language))
  return {
    language,
    documentLanguage: document.language === language ? null : document.language,
    texts,
    number: document.number,
    version: String(document.version),
    replaces: document.version > 1 ? texts.replaces : null,
    issuedOn: buildDate(document.issuedOn, language),
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
    bank: buildBankAccount(linkedQuote),
    sepaQrCode: buildSepaQrCode(linkedQuote),
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
