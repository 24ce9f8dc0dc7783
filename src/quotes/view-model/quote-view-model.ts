// The values that the page and the PDF of a quote show, formatted in one language. Both templates
// read them: quote-page-template.eta and pdf-template.typ.

import { electronicFormatIBAN, friendlyFormatIBAN, isValidIBAN } from 'ibantools'
import { getInitials } from '../../company/company-initials.ts'
import { quoteStatuses } from '../../database/quote-statuses.ts'
import { removeAccents } from '../../text/accent-folding.ts'
import { languages } from '../../texts/languages.ts'
import {
  formatCountry,
  formatDate,
  formatInstant,
  formatMoney,
  getLanguage,
  getTexts,
  type Locale,
} from '../formats.ts'
import type { LinkedQuote, QuoteDocument } from '../schema.ts'
import { buildMailLink, buildPhoneLink, buildWebsiteLink } from './contact-links.ts'
import {
  buildLineColumns,
  buildLineRows,
  buildTotalRows,
  chooseTaxLabel,
} from './line-and-total-tables.ts'
import { buildSepaQrCode } from './sepa-qr-code.ts'

/**
 * Returns what page and PDF show. Missing values are null, and all others are formatted in the
 * language of the locale. `timeZone` is that of the company: the link works until a time in it.
 */
export function buildQuoteViewModel(linkedQuote: LinkedQuote, locale: Locale, timeZone: string) {
  const language = getLanguage(locale)
  const { status, link, contentHash, document } = linkedQuote
  const texts = getTexts(locale)
  const lines = buildLineRows(document.lines, locale)
  return {
    language,
    /** Null if it is `language`. */
    documentLanguage: document.language === language ? null : document.language,
    /** The template of the PDF gets those that are not functions. */
    texts,
    number: document.number,
    version: String(document.version),
    replaces: document.version > 1 ? texts.replaces : null,
    issuedOn: buildDate(document.issuedOn, locale),
    validUntil:
      document.validUntil === null || quoteStatuses[status].hidesValidity
        ? null
        : buildDate(document.validUntil, locale),
    banner: buildStatusBanner(status, document.validUntil, locale),
    seller: buildSeller(document, locale),
    buyer: buildBuyer(document, locale),
    columns: buildLineColumns(lines, chooseTaxLabel(document.totals, locale), locale),
    lines,
    totals: buildTotalRows(document, locale),
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
    ...buildSellerContact(seller, `${getTexts(locale).quote} ${number}`),
    taxIdLabel: getTaxNumberLabel(country, locale),
    taxId,
    address,
    website: website === null ? null : { text: website, href: buildWebsiteLink(website) },
  }
}

/** Returns null if the document says nothing about the buyer. */
function buildBuyer({ buyer }: QuoteDocument, locale: Locale) {
  const { name, taxId, address, contactName, country = null } = buyer
  if (Object.values(buyer).every((text) => text === null)) return null
  return {
    name,
    taxIdLabel: getTaxNumberLabel(country, locale),
    taxId,
    address,
    /** Null if the address has it. */
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
  const texts = getTexts(locale)
  const { label, explanation } = texts.status[status]
  if (status !== 'expired' || validUntil === null) return { status, label, explanation }
  const validity = texts.validity(formatDate(validUntil, locale))
  return { status, label, explanation: `${validity} ${explanation}` }
}

function buildTerms({ trade, payment }: QuoteDocument, locale: Locale) {
  const texts = getTexts(locale)
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

/** Returns null if the seller states no account, or if nobody is to pay the quote. */
function buildBankAccount({ status, document }: LinkedQuote) {
  const { bank } = document.seller
  if (bank === null || !quoteStatuses[status].isPayable) return null
  return { holder: bank.holder, iban: formatIban(bank.iban), bic: bank.bic }
}

/**
 * Returns an IBAN in groups of four if its length and check digits (mod 97) are right.
 * Returns any other text unchanged, with `isValid: false`.
 */
export function formatIban(iban: string) {
  const electronic = electronicFormatIBAN(iban) ?? ''
  if (!isValidIBAN(electronic)) return { text: iban, groups: [iban], isValid: false }
  const text = friendlyFormatIBAN(electronic) ?? iban
  return { text, groups: text.split(' '), isValid: true }
}

/**
 * `language` is null if it is the language of the page, and `lines` if a text applies to the whole
 * quote.
 */
function buildLegalTexts(document: QuoteDocument, locale: Locale) {
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
  return getTexts(locale).ofLines(describePositions(positions), positions.length)
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

/** What a tax number is called in the party's country, if that is the same in each language. */
const taxNumberNames = Object.entries({
  CNPJ: 'BR',
  CUIT: 'AR',
  EIN: 'US',
  NIF: 'ES PT',
  NIT: 'BO CO CU GT SV',
  'N° TVA': 'FR',
  'Partita IVA': 'IT',
  RFC: 'MX',
  RIF: 'VE',
  RNC: 'DO',
  RTN: 'HN',
  RUC: 'EC NI PA PE PY',
  RUT: 'CL UY',
  UID: 'AT CH',
  'USt-IdNr.': 'DE',
})
/** Countries whose tax numbers on quotes are VAT numbers: the EU, and those around it. */
const withVatNumbers =
  'BE BG CY CZ DK EE FI GB GR HR HU IE LT LU LV MT NL NO PL RO SE SI SK XI'.split(' ')

/** `country` is null if nobody knows it. Then the label is the usual one of the language. */
export function getTaxNumberLabel(country: string | null | undefined, locale: Locale): string {
  const texts = getTexts(locale)
  if (country == null) return texts.taxId
  const [name] =
    taxNumberNames.find(([, countries]) => countries.split(' ').includes(country)) ?? []
  return name ?? (withVatNumbers.includes(country) ? texts.vatNumber : texts.taxNumber)
}
