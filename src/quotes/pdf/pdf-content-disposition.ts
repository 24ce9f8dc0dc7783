// Names the file of a PDF, and builds its Content-Disposition header. The browser opens the PDF in
// the tab (inline) instead of downloading it (attachment). The name is for visitors who save it.

import type { Language } from '../../company/languages.ts'
import { removeAccents } from '../../text/accent-folding.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import { truncatePlainText } from '../view-model/plain-text.ts'

/**
 * Returns the value of Content-Disposition: the name as RFC 8187 encodes it, and an ASCII name for
 * programs that do not support RFC 8187.
 */
export function buildContentDisposition(fileName: string): string {
  return `inline; filename="${toAsciiName(fileName)}"; filename*=UTF-8''${encodeName(fileName)}`
}

function toAsciiName(fileName: string): string {
  return removeAccents(fileName).replace(/[^A-Za-z0-9._-]+/g, '-')
}

/** Replaces the characters that file systems reject, and percent-encodes the name (RFC 8187). */
function encodeName(fileName: string): string {
  const safeName = fileName.replace(/[\\/:*?"<>|\s]+/g, '-')
  // encodeURIComponent leaves these characters as they are, but RFC 8187 does not allow them.
  return encodeURIComponent(safeName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
}

const maxNumberLength = 64

/** Returns a name such as "Presupuesto-P-2026-17.pdf". The number may contain any character. */
export function getPdfFileName(quoteNumber: string, language: Language): string {
  return `${quoteTexts[language].quote}-${truncatePlainText(quoteNumber, maxNumberLength)}.pdf`
}
