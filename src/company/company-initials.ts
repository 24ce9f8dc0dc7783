// The initials of the company, which quotes and the dashboard show in the square at the top.

/**
 * Returns the initials of the first two capitalised words of a name: FP for "Ferretería de Prueba,
 * S.L.". If no word is capitalised, all words count.
 */
export function getInitials(name: string): string {
  // Scripts without upper case (Lo) and digits count as capitalised.
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const capitalised = words.filter((word) => /^[\p{Lu}\p{Lo}\p{N}]/u.test(word))
  return (capitalised.length > 0 ? capitalised : words)
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0))
    .join('')
    .toUpperCase()
}
