// The texts that a language must define for the quote page, its error pages and the PDF.
import type { SharedQuote } from '../schema.ts'

/**
 * The error pages: those of problem codes, that of a quote whose characters no PDF can show, and
 * that of a PDF or page that could not be rendered.
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

type StatusWithBanner = Exclude<SharedQuote['status'], 'sent'>

export type QuoteTexts = {
  quote: string
  version: string
  issuedOn: string
  validUntil: string
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
  tax: string
  surcharge: string
  net: string
  sku: string
  hsCode: string
  origin: string
  totals: string
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
  notes: string
  legal: string
  contentHash: string
  /** How a customer compares the PDF with the page. */
  compareHash: string
  linkExpires: (instant: string) => string
  json: string
  /** The words around the numbers in "Page 2 of 5", at the foot of each page of the PDF. */
  pageNumber: { before: string; between: string }
  errors: Record<ErrorPageCode, { title: string; explanation: string }>
  contact: string
  /** The link from an error page to the page of the quote. */
  openPage: string
}
