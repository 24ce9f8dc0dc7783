// Builds the name under which a browser saves the PDF of a quote.
import { type Language, quoteTexts } from '../quote-texts/quote-texts.ts'
import { truncatePlainText } from '../view-model/plain-text.ts'

const maxNumberLength = 64

/** Returns a name such as "Presupuesto-P-2026-17.pdf". The number may contain any character. */
export function getPdfFileName(quoteNumber: string, language: Language): string {
  return `${quoteTexts[language].quote}-${truncatePlainText(quoteNumber, maxNumberLength)}.pdf`
}
