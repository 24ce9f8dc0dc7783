// The banner at the top of a quote that is not `sent`: accepted, rejected, expired, superseded.
import type { Language } from '../../company/languages.ts'
import { formatDate } from '../formats/date-formats.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { LinkedQuote } from '../schema.ts'

/**
 * Returns the status, its label and an explanation, which names the last valid day of an expired
 * quote. Returns null for a sent quote, which needs no banner.
 */
export function buildStatusBanner(
  status: LinkedQuote['status'],
  validUntil: string | null,
  language: Language,
) {
  if (status === 'sent') return null
  const texts = quoteTexts[language]
  const { label, explanation } = texts.status[status]
  if (status !== 'expired' || validUntil === null) return { status, label, explanation }
  const validity = texts.validity(formatDate(validUntil, language))
  return { status, label, explanation: `${validity} ${explanation}` }
}
