// The file name of a PDF and the header that carries it.
import { removeAccents } from '../../text/accent-folding.ts'
import { type Language, quoteTexts } from '../quote-texts/quote-texts.ts'
import { truncatePlainText } from '../view-model/plain-text.ts'

const maxNumberLength = 64

/** Returns for example "Presupuesto-P-2026-17.pdf". The number may hold any character. */
export function getPdfFileName(quoteNumber: string, language: Language): string {
  return `${quoteTexts[language].quote}-${truncatePlainText(quoteNumber, maxNumberLength)}.pdf`
}

/**
 * Returns the value of Content-Disposition: the name in the form of RFC 8187, and an ASCII name for
 * programs that do not support that.
 */
export function buildContentDisposition(fileName: string): string {
  return `inline; filename="${toAsciiName(fileName)}"; filename*=UTF-8''${encodeName(fileName)}`
}

function toAsciiName(fileName: string): string {
  return removeAccents(fileName).replace(/[^A-Za-z0-9._-]+/g, '-')
}

/** Replaces what no file system accepts, then encodes also what encodeURIComponent leaves out. */
function encodeName(fileName: string): string {
  const safeName = fileName.replace(/[\\/:*?"<>|\s]+/g, '-')
  return encodeURIComponent(safeName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
}
