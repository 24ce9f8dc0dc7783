// The texts that a language must define for the quote page, its error pages and the PDF.
import type { SharedQuote } from '../schema.ts'

/**
 * The error pages: those of problem codes, that of a quote whose characters no PDF can show, and
 * those of a PDF or page that could not be rendered, or is not ready yet.
 */
export type ErrorPageCode =
  | 'not_found'
  | 'link_expired'
  | 'link_revoked'
  | 'rate_limited'
  | 'unavailable'
  | 'not_acceptable'
  | 'internal_error'
  | 'invalid_parameter'
  | 'pdf_refused'
  | 'rendering_unavailable'
  | 'rendering_pending'

type StatusWithBanner = Exclude<SharedQuote['status'], 'sent'>

/** The names of units, by code in unit-names.ts. */
export type UnitName =
  | 'piece'
  | 'pair'
  | 'dozen'
  | 'hundred'
  | 'thousand'
  | 'set'
  | 'pack'
  | 'box'
  | 'carton'
  | 'bag'
  | 'sack'
  | 'bottle'
  | 'pallet'
  | 'roll'
  | 'day'
  | 'workingDay'
  | 'week'
  | 'month'
  | 'year'
  | 'service'
  | 'lumpSum'

export type QuoteTexts = {
  quote: string
  /** What the links to the page in other languages are. */
  language: string
  version: string
  /** Stands beside the number of a later version. Which ones were sent before is not known. */
  replaces: string
  issuedOn: string
  validUntil: string
  /** How the first day of a month is written, if not as Intl does, which writes the number 1. */
  firstOfMonth: string | null
  total: string
  viewPdf: string
  status: Record<StatusWithBanner, { label: string; explanation: string }>
  validity: (date: string) => string
  taxId: string
  buyer: string
  attention: string
  lines: string
  position: string
  description: string
  quantity: string
  unitPrice: string
  discount: string
  /** Value added tax. */
  tax: string
  /** A tax that is no value added tax, as in the United States. */
  salesTax: string
  surcharge: string
  net: string
  sku: string
  hsCode: string
  origin: string
  totals: string
  /** The link from the lines of a long quote to its totals. */
  jumpToTotal: string
  discounts: string
  netTotal: string
  taxAt: (label: string, rate: string) => string
  surchargeAt: (rate: string) => string
  onBase: (base: string) => string
  noTax: string
  terms: string
  incoterms: (edition: string) => string
  delivery: string
  payment: string
  bank: string
  holder: string
  bankAdvice: string
  ibanIsWrong: string
  /** What to write on the transfer: the number of the quote. */
  reference: string
  /** How to copy the account: one click selects the whole value. */
  selectToCopy: string
  /** What the QR code of an accepted quote is for. */
  sepaQr: string
  notes: string
  legal: string
  /** Which lines a legal text is for: `positions` such as "1, 3–5", of `count` lines. */
  ofLines: (positions: string, count: number) => string
  contentHash: string
  /** How a customer compares the PDF with the page. */
  compareHash: string
  linkExpires: (instant: string) => string
  json: string
  /** The words around the numbers in "Page 2 of 5", at the foot of each page of the PDF. */
  pageNumber: { before: string; between: string }
  /** The links that write a mail to the seller, with its subject and text. */
  reply: {
    title: string
    accept: string
    ask: string
    /** For a quote that no longer holds. */
    renew: string
    acceptSubject: (number: string) => string
    acceptBody: (number: string, version: string, total: string) => string
    askSubject: (number: string) => string
    renewSubject: (number: string) => string
  }
  errors: Record<ErrorPageCode, { title: string; explanation: string }>
  contact: string
  /** The link to a document that was not ready yet. */
  tryAgain: string
  /** The link from an error page to the page of the quote. */
  openPage: string
  units: Record<UnitName, [singular: string, plural: string]>
}
