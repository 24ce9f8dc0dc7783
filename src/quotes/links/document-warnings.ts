// What a customer would notice in a quote before its company does.
import { findUnprintableInDocument } from '../pdf/pdf-text.ts'
import type { QuoteDocument } from '../schema.ts'

const maxNamedCharacters = 5

/** Returns a sentence for each probable mistake in the document of a new link. */
export function findDocumentWarnings(documentJson: string): string[] {
  const document = JSON.parse(documentJson) as QuoteDocument
  const { lines, totals, validUntil } = document
  const warnings: string[] = []
  if (lines.length === 0) warnings.push('it has no lines')
  if (totals.gross.amount.startsWith('-'))
    warnings.push(`its total is below zero: ${totals.gross.amount} ${totals.gross.currency}`)
  if (validUntil === null) warnings.push('it is valid without end (valid_until is empty)')
  const withoutReason = lines.filter(({ taxRate, taxReason }) => taxRate === '0' && !taxReason)
  if (withoutReason.length > 0)
    warnings.push(
      `nothing says why line ${listPositions(withoutReason)} has 0 % tax (tax_reason is empty, and ` +
        'the countries do not decide it)',
    )
  const characters = findUnprintableInDocument(documentJson)
  if (characters.length > 0)
    warnings.push(`it has no PDF, because the fonts lack ${describeCharacters(characters)}`)
  return warnings
}

function listPositions(lines: QuoteDocument['lines']): string {
  const shown = lines.slice(0, maxNamedCharacters).map(({ position }) => position)
  return shown.join(', ') + (lines.length > shown.length ? ' …' : '')
}

/** Returns characters with their code points: "✍ (U+270D)". */
export function describeCharacters(characters: string[]): string {
  const named = characters.slice(0, maxNamedCharacters).map((character) => {
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    return `${character} (U+${code})`
  })
  return named.join(', ') + (characters.length > named.length ? ' …' : '')
}
