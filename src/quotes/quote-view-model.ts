// A shared quote as it is read: every text of it formatted in one language, whatever it is then set in.

import { mailLink, phoneLink, websiteLink } from './contact-links.ts'
import {
  formatCountry,
  formatDate,
  formatDecimal,
  formatIban,
  formatInstant,
  formatMoney,
  formatPercent,
} from './locale-formats.ts'
import { type Language, wording } from './quote-texts.ts'
import type { QuoteDocument, SharedQuote } from './schema.ts'
import { unitName } from './unit-names.ts'

type Line = QuoteDocument['lines'][number]
/** A column of numbers; its width is that of its longest text, in characters. */
type Column = {
  key: 'quantity' | 'unitPrice' | 'discount' | 'tax' | 'surcharge' | 'net'
  label: string
  width: number
}
export type PresentedQuote = ReturnType<typeof presentQuote>

/** Formats a quote in a language. What is not stated is null, '' in a table's cell; columns that no line uses are left out. */
export function presentQuote(
  { status, link, contentHash, document }: SharedQuote,
  language: Language,
) {
  const words = wording[language]
  const { seller, buyer, totals } = document
  const lines = document.lines.map((line) => presentLine(line, language))
  const columns = usedColumns(lines, language)
  return {
    language,
    /** The language of the document's own texts, where it is another one than the page's. */
    documentLanguage: document.language === language ? null : document.language,
    words,
    number: document.number,
    version: String(document.version),
    issuedOn: presentDate(document.issuedOn, language),
    validUntil: document.validUntil === null ? null : presentDate(document.validUntil, language),
    banner: presentStatus(status, document.validUntil, language),
    seller: {
      ...presentContact(seller, `${words.quote} ${document.number}`),
      taxId: seller.taxId,
      address: seller.address,
      website:
        seller.website === null
          ? null
          : { text: seller.website, href: websiteLink(seller.website) },
    },
    buyer: Object.values(buyer).some((text) => text !== null) ? buyer : null,
    columns,
    lines,
    totals: presentTotals(totals, language),
    terms: presentTerms(document, language),
    bank: seller.bank && {
      holder: seller.bank.holder,
      iban: formatIban(seller.bank.iban),
      bic: seller.bank.bic,
    },
    notes: document.notes,
    legal: document.legal,
    contentHash,
    linkExpires:
      link.expiresAt === null ? null : words.linkExpires(formatInstant(link.expiresAt, language)),
    gross: formatMoney(totals.gross, language),
  }
}

/** Whom to ask: the seller's name, and how to write and call. */
export function presentContact(
  { legalName, email, phone }: { legalName: string; email: string; phone: string },
  subject?: string,
) {
  return {
    legalName,
    initials: initialsOf(legalName),
    email: { text: email, href: mailLink(email, subject) },
    phone: { text: phone, href: phoneLink(phone) },
  }
}

/** Up to two initials of a name, of the words that it writes with a capital: "Ferretería de Prueba, S.L." is FP. */
function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const capitals = words.filter((word) => /^[\p{Lu}\p{Lo}\p{N}]/u.test(word))
  return (capitals.length > 0 ? capitals : words)
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0))
    .join('')
    .toUpperCase()
}

function presentDate(date: string, language: Language) {
  return { date, text: formatDate(date, language) }
}

function presentStatus(
  status: SharedQuote['status'],
  validUntil: string | null,
  language: Language,
) {
  if (status === 'sent') return null
  const { status: statuses, validity } = wording[language]
  const { label, explanation } = statuses[status]
  const ended = status === 'expired' && validUntil !== null
  return {
    status,
    label,
    explanation: ended
      ? `${validity(formatDate(validUntil, language))} ${explanation}`
      : explanation,
  }
}

function usedColumns(lines: ReturnType<typeof presentLine>[], language: Language): Column[] {
  const words = wording[language]
  const columns = [
    { key: 'quantity', label: words.quantity },
    { key: 'unitPrice', label: words.unitPrice },
    { key: 'discount', label: words.discount },
    { key: 'tax', label: words.tax },
    { key: 'surcharge', label: words.surcharge },
    { key: 'net', label: words.net },
  ] as const
  return columns
    .filter(({ key }) => lines.some((line) => line[key] !== '') || !optional.has(key))
    .map((column) => ({
      ...column,
      width: lines.reduce(
        (width, line) => Math.max(width, line[column.key].length),
        column.label.length,
      ),
    }))
}

const optional = new Set<Column['key']>(['discount', 'tax', 'surcharge'])

function hasDiscount({ discountPercent }: Line): boolean {
  return discountPercent !== '0'
}

function presentLine(line: Line, language: Language) {
  const words = wording[language]
  const { sku, hsCode, originCountry, quantity, unit, taxRate, surchargeRate } = line
  const details: { label: string; text: string }[] = []
  if (sku !== null) details.push({ label: words.sku, text: sku })
  if (hsCode !== null) details.push({ label: words.hsCode, text: hsCode })
  if (originCountry !== null)
    details.push({ label: words.origin, text: formatCountry(originCountry, language) })
  return {
    position: String(line.position),
    description: line.description,
    details,
    quantity:
      formatDecimal(quantity, language) +
      (unit === null ? '' : `\u00a0${unitName(unit, quantity, language)}`),
    unitPrice: formatMoney(line.unitPrice, language),
    discount: hasDiscount(line) ? formatPercent(line.discountPercent, language) : '',
    tax: taxRate === null ? '' : formatPercent(taxRate, language),
    surcharge: surchargeRate === null ? '' : formatPercent(surchargeRate, language),
    net: formatMoney(line.net, language),
  }
}

function presentTotals(
  { net, discounts, taxes, gross }: QuoteDocument['totals'],
  language: Language,
) {
  const words = wording[language]
  const rows: {
    label: string
    base: string | null
    amount: string
    kind?: 'discounts' | 'gross'
  }[] = []
  if (/[1-9]/.test(discounts.amount)) {
    rows.push({
      label: words.discounts,
      base: null,
      amount: formatMoney(discounts, language),
      kind: 'discounts',
    })
  }
  rows.push({ label: words.netTotal, base: null, amount: formatMoney(net, language) })
  for (const { rate, surchargeRate, base, amount, surchargeAmount } of taxes) {
    const onBase = words.onBase(formatMoney(base, language))
    rows.push({
      label: words.taxAt(formatPercent(rate, language)),
      base: onBase,
      amount: formatMoney(amount, language),
    })
    if (surchargeRate !== null && surchargeAmount !== null) {
      const label = words.surchargeAt(formatPercent(surchargeRate, language))
      rows.push({ label, base: onBase, amount: formatMoney(surchargeAmount, language) })
    }
  }
  const base = taxes.length === 0 ? words.noTax : null
  rows.push({ label: words.total, base, amount: formatMoney(gross, language), kind: 'gross' })
  return rows
}

function presentTerms(
  { trade: { incoterm, delivery }, payment }: QuoteDocument,
  language: Language,
) {
  const words = wording[language]
  const terms: { label: string; text: string }[] = []
  if (incoterm) {
    terms.push({
      label: words.incoterms(incoterm.edition),
      text: [incoterm.code, incoterm.place].filter((text) => text !== null).join(' '),
    })
  }
  if (delivery !== null) terms.push({ label: words.delivery, text: delivery })
  if (payment.terms !== null) terms.push({ label: words.payment, text: payment.terms })
  return terms
}
