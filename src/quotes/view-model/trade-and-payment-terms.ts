// The terms of a quote: Incoterms, delivery and payment.
import type { Language } from '../../company/languages.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { QuoteDocument } from '../schema.ts'

/** Returns the terms that the quote states, from top to bottom. */
export function buildTerms({ trade, payment }: QuoteDocument, language: Language) {
  const texts = quoteTexts[language]
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
