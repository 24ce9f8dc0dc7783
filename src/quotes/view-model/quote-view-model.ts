// The values that the page and the PDF of a quote show, formatted in one language. Both templates
// read them: quote-page-template.eta and pdf-template.typ.

import { electronicFormatIBAN, friendlyFormatIBAN, isValidIBAN } from 'ibantools'
import { getInitials } from '../../company/company-initials.ts'
import { removeAccents } from '../../text/accent-folding.ts'
import type { QuoteTexts } from '../../texts/en.ts'
import { type Language, languages, textsByLanguage } from '../../texts/languages.ts'
import {
  formatCountry,
  formatDate,
  formatInstant,
  formatMoney,
  getLanguage,
  type Locale,
} from '../formats.ts'
import type { LinkedQuote, QuoteDocument } from '../schema.ts'
import { buildMailLink, buildPhoneLink, buildWebsiteLink } from './contact-links.ts'
import {
  buildLineColumns,
  buildLineRows,
  buildTotalRows,
  chooseTaxLabel,
  type LineColumn,
  type LineRow,
  type TotalRow,
} from './line-and-total-tables.ts'
import { buildSepaQrCode, type QrCode } from './sepa-qr-code.ts'
import { getTaxNumberLabel } from './tax-number-label.ts'

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
  issuedOn: { date: string; text: string }
  /** Null for a superseded quote too. Another version replaces it, so this date would mislead. */
  validUntil: { date: string; text: string } | null
  banner: { status: LinkedQuote['status']; label: string; explanation: string } | null
  seller: {
    legalName: string
    initials: string
    taxIdLabel: string
    taxId: string
    address: string
    email: LinkedText
    phone: LinkedText
    website: LinkedText | null
  }
  /** Null if the document says nothing about the buyer. `country` is null if the address has it. */
  buyer: {
    name: string | null
    taxIdLabel: string
    taxId: string | null
    address: string | null
    country: string | null
    contactName: string | null
  } | null
  columns: LineColumn[]
  lines: LineRow[]
  totals: TotalRow[]
  terms: { label: string; text: string }[]
  /** Null if the quote shows none. */
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

/** `timeZone` is that of the company. The time until which the link works is shown in it. */
export function buildQuoteViewModel(
  linkedQuote: LinkedQuote,
  locale: Locale,
  timeZone: string,
): QuoteViewModel {
  const language = getLanguage(locale)
  const { status, link, contentHash, document } = linkedQuote
  const texts = textsByLanguage[getLanguage(locale)].quotes
  const lines = buildLineRows(document.lines, locale)
  return {
    language,
    documentLanguage: document.language === language ? null : document.language,
    texts,
    number: document.number,
    version: String(document.version),
    replaces: document.version > 1 ? texts.replaces : null,
    issuedOn: buildDate(document.issuedOn, locale),
    validUntil:
      document.validUntil === null || status === 'superseded'
        ? null
        : buildDate(document.validUntil, locale),
    banner: buildStatusBanner(status, document.validUntil, locale),
    seller: buildSeller(document, locale),
    buyer: buildBuyer(document, locale),
    columns: buildLineColumns(lines, chooseTaxLabel(document.totals, locale), locale),
    lines,
    totals: buildTotalRows(document.totals, locale),
    terms: buildTerms(document, locale),
    bank: buildBankAccount(linkedQuote),
    sepaQrCode: buildSepaQrCode(linkedQuote),
    notes: document.notes,
    legal: buildLegalTexts(document, locale),
    contentHash,
    linkExpires:
      link.expiresAt === null
        ? null
        : texts.linkExpires(formatInstant(link.expiresAt, locale, timeZone)),
    gross: formatMoney(document.totals.gross, locale),
  }
}

function buildDate(date: string, locale: Locale) {
  return { date, text: formatDate(date, locale) }
}

function buildSeller({ seller, number }: QuoteDocument, locale: Locale) {
  const { taxId, address, website, country } = seller
  return {
    ...buildSellerContact(seller, `${textsByLanguage[getLanguage(locale)].quotes.quote} ${number}`),
    taxIdLabel: getTaxNumberLabel(country, locale),
    taxId,
    address,
    website: website === null ? null : { text: website, href: buildWebsiteLink(website) },
  }
}

function buildBuyer({ buyer }: QuoteDocument, locale: Locale): QuoteViewModel['buyer'] {
  const { name, taxId, address, contactName, country = null } = buyer
  if (Object.values(buyer).every((text) => text === null)) return null
  return {
    name,
    taxIdLabel: getTaxNumberLabel(country, locale),
    taxId,
    address,
    country:
      country === null || endsWithCountry(address ?? '', country)
        ? null
        : formatCountry(country, locale),
    contactName,
  }
}

/** Whether the last line of an address names the country, in any language of the pages. */
function endsWithCountry(address: string, country: string): boolean {
  const toKey = (text: string) =>
    removeAccents(text)
      .toLowerCase()
      .replace(/[^a-z]+/g, '')
  const ending = toKey(address.trim().split('\n').at(-1) ?? '')
  return languages.some((language) => ending.endsWith(toKey(formatCountry(country, language))))
}

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
 * Returns the status, its label and an explanation, which names the last valid day of an expired
 * quote. Returns null for a sent quote, which needs no banner.
 */
function buildStatusBanner(
  status: LinkedQuote['status'],
  validUntil: string | null,
  locale: Locale,
) {
  if (status === 'sent') return null
  const texts = textsByLanguage[getLanguage(locale)].quotes
  const { label, explanation } = texts.status[status]
  if (status !== 'expired' || validUntil === null) return { status, label, explanation }
  const validity = texts.validity(formatDate(validUntil, locale))
  return { status, label, explanation: `${validity} ${explanation}` }
}

function buildTerms({ trade, payment }: QuoteDocument, locale: Locale) {
  const texts = textsByLanguage[getLanguage(locale)].quotes
  const terms: { label: string; text: string }[] = []
  if (trade.incoterm) {
    const { code, edition, place } = trade.incoterm
    const text = place === null ? code : `${code} ${place}`
    terms.push({ label: texts.incoterms(edition), text })
  }
  if (trade.delivery !== null) terms.push({ label: texts.delivery, text: trade.delivery })
  if (payment.terms !== null) terms.push({ label: texts.payment, text: payment.terms })
  return terms
}

type BankAccount = {
  holder: string
  iban: { text: string; groups: string[]; isValid: boolean }
  bic: string | null
}

/** Only these show the account, so nobody pays a rejected, expired or superseded quote. */
const payableStatuses: LinkedQuote['status'][] = ['sent', 'accepted']

/** Returns null if the seller states no account, or if the quote is neither sent nor accepted. */
function buildBankAccount({ status, document }: LinkedQuote): BankAccount | null {
  const { bank } = document.seller
  if (bank === null || !payableStatuses.includes(status)) return null
  return { holder: bank.holder, iban: formatIban(bank.iban), bic: bank.bic }
}

/**
 * Returns an IBAN in groups of four if its length and check digits (mod 97) are right.
 * Returns any other text unchanged, with `isValid: false`.
 */
export function formatIban(iban: string): BankAccount['iban'] {
  const electronic = electronicFormatIBAN(iban) ?? ''
  if (!isValidIBAN(electronic)) return { text: iban, groups: [iban], isValid: false }
  const text = friendlyFormatIBAN(electronic) ?? iban
  return { text, groups: text.split(' '), isValid: true }
}

type ShownLegalText = {
  /** The lines to which the text applies, or null for the whole quote. */
  lines: string | null
  text: string
  /** Set if the text is not in the language of the other texts. */
  language: Language | null
}

function buildLegalTexts(
  document: QuoteDocument,
  locale: Locale,
): { texts: ShownLegalText[]; language: Language | null } {
  const language = getLanguage(locale)
  const translation = document.legalTranslations?.[language]
  const isInPageLanguage = document.language === language || translation !== undefined
  const shownLanguage = isInPageLanguage ? language : document.language
  const { legal, legalForLines = [], legalInOtherLanguages = [] } = translation ?? document
  return {
    texts: [
      ...legal.map((text) => ({ lines: null, text, language: null })),
      ...legalForLines.map(({ text, lines }) => ({
        lines: describeLines(lines, shownLanguage),
        text,
        language: null,
      })),
      ...legalInOtherLanguages.map(({ text, lines, language: textLanguage }) => ({
        lines: lines ? describeLines(lines, textLanguage) : null,
        text,
        language: textLanguage,
      })),
    ],
    language: isInPageLanguage ? null : shownLanguage,
  }
}

function describeLines(positions: number[], locale: Locale): string {
  return textsByLanguage[getLanguage(locale)].quotes.ofLines(
    describePositions(positions),
    positions.length,
  )
}

/** Returns ascending positions as a list of ranges: "1, 3–5". */
function describePositions(positions: number[]): string {
  const ranges: { first: number; last: number }[] = []
  for (const position of positions) {
    const range = ranges.at(-1)
    if (range && range.last === position - 1) range.last = position
    else ranges.push({ first: position, last: position })
  }
  return ranges
    .map(({ first, last }) => (first === last ? String(first) : `${first}–${last}`))
    .join(', ')
}
