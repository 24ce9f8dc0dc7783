// The legal texts of a quote, in the language of the page if the document contains them.
import type { Language } from '../../company/languages.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import type { QuoteDocument } from '../schema.ts'

export type ShownLegalText = {
  /** The lines to which the text applies, or null for the whole quote. */
  lines: string | null
  text: string
  /** Set if the text is not in the language of the other texts. */
  language: Language | null
}

/** Returns the legal texts, and their language if it differs from that of the page. */
export function buildLegalTexts(
  document: QuoteDocument,
  language: Language,
): { texts: ShownLegalText[]; language: Language | null } {
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

function describeLines(positions: number[], language: Language): string {
  return quoteTexts[language].ofLines(describePositions(positions), positions.length)
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
