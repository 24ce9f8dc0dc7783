// The texts that a language must define for the quote page, its error pages and the PDF.
import type { ErrorPageName } from '../failures.ts'
import type { LinkedQuote } from '../schema.ts'

type StatusWithBanner = Exclude<LinkedQuote['status'], 'sent'>

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
  /** The label of the links to the page in other languages. */
  language: string
  version: string
  /** Shown beside the number of a later version. Nobody knows which versions were sent before. */
  replaces: string
  issuedOn: string
  validUntil: string
  /** The first day of a month, if it is not written as the number 1 that Intl writes. */
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
  /** A tax that is not value added tax, for example in the United States. */
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
  /** Says that a transfer must name the number of the quote. */
  reference: string
  /** Says how to copy the account: one click selects the whole value. */
  selectToCopy: string
  /** Says what the QR code of an accepted quote is for. */
  sepaQr: string
  notes: string
  legal: string
  /** Names the lines of a legal text: `positions` such as "1, 3–5", of `count` lines. */
  ofLines: (positions: string, count: number) => string
  contentHash: string
  /** Says how a customer compares the PDF with the page. */
  compareHash: string
  linkExpires: (instant: string) => string
  json: string
  /** The words around the numbers in "Page 2 of 5", at the foot of each page of the PDF. */
  pageNumber: { before: string; between: string }
  /** The links that start an email to the seller, with its subject and text. */
  reply: {
    title: string
    accept: string
    ask: string
    /** For a quote that is no longer valid. */
    renew: string
    acceptSubject: (number: string) => string
    acceptBody: (number: string, version: string, total: string) => string
    askSubject: (number: string) => string
    renewSubject: (number: string) => string
  }
  errors: Record<ErrorPageName, { title: string; explanation: string }>
  contact: string
  /** The link from an error page to the same URL. */
  tryAgain: string
  /** The link from an error page to the page of the quote. */
  openPage: string
  units: Record<UnitName, [singular: string, plural: string]>
}
