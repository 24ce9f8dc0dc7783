// Words with ñ: the engine takes ñ for n, so that they are kept apart to come first when ñ is typed.

const enye = /ñ/u
/** The letter in any writing, also as n with a tilde of its own. */
const mayHoldEnye = /ñ|Ñ|\u0303/

/**
 * Words with ñ and their beginnings from the ñ on, folded but for it: the engine takes ñ for n, and with ñ typed names with ñ come first.
 * "Muñeca de caña" gives muñ, muñe, muñec, muñeca, cañ and caña.
 */
export function enyeForms(text: string): string[] {
  if (!mayHoldEnye.test(text)) return []
  const words = foldButEnye(text).match(/[\p{L}\p{N}]+/gu) ?? []
  const forms = words
    .filter((word) => enye.test(word))
    .flatMap((word) =>
      Array.from({ length: word.length - word.indexOf('ñ') }, (_, extra) =>
        word.slice(0, word.indexOf('ñ') + 1 + extra),
      ),
    )
  return [...new Set(forms)]
}

/** The words with ñ in what was typed, as they stand among the forms. */
export function enyeWords(text: string): string[] {
  return (foldButEnye(text).match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => enye.test(word))
}

function foldButEnye(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFC')
    .split('ñ')
    .map((piece) => piece.normalize('NFD').replace(/\p{M}/gu, ''))
    .join('ñ')
}
