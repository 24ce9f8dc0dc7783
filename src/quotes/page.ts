// The page behind a quote link: templates, one style sheet, and the policy that lets nothing else in. No script, nothing from elsewhere.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Eta } from 'eta'
import { presentContact, presentQuote } from './presentation.ts'
import type { SharedQuote } from './schema.ts'
import { plainText } from './untrusted-text.ts'
import { type Language, type Notice, wording } from './wording.ts'

const beside = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')

// Comments and indentation are for those who edit it.
const style = beside('page.css')
  .replace(/\/\*[\s\S]*?\*\//g, '')
  .replace(/\s+/g, ' ')

const escapeHtml = new Eta().config.escapeFunction
const templates = new Eta({ escapeFunction: (value) => escapeHtml(plainText(String(value))), rmWhitespace: true })
for (const name of ['page', 'quote', 'notice']) templates.loadTemplate(`@${name}`, beside(`${name}.eta`))

/** Value of Content-Security-Policy for both pages: no script at all, only this style sheet, nothing loaded, framed or submitted. */
export const pageContentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The whole HTML document of a quote. Without a link to a PDF there is no button for it. */
export function renderQuotePage(shared: SharedQuote, language: Language, links: { pdf: string | null; json: string }): string {
  const quote = presentQuote(shared, language)
  const title = `${quote.words.quote} ${quote.number} · ${quote.seller.legalName}`
  // The numbers (about 9 px a character) would leave too little of a 42rem table to the description.
  const roomy = quote.columns.reduce((sum, { width }) => sum + width, 0) > 42
  return templates.render('@quote', { ...quote, title, links, style, roomy })
}

/** The page of a link that cannot be opened; with the seller's contact where one is given, and nothing of any quote. */
export function renderNoticePage(
  notice: Notice,
  language: Language,
  seller: { legalName: string; email: string; phone: string } | null,
): string {
  const words = wording[language]
  return templates.render('@notice', { ...words.notices[notice], words, language, style, contact: seller && presentContact(seller) })
}
