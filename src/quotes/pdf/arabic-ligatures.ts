// Replaces each Arabic ligature of lam and alef by one character. Typst would write two characters
// into the text layer of the PDF, and programs that extract the text would swap them.

const ligatures: Record<string, { isolated: string; final: string }> = {
  لآ: { isolated: '\ufef5', final: '\ufef6' },
  لأ: { isolated: '\ufef7', final: '\ufef8' },
  لإ: { isolated: '\ufef9', final: '\ufefa' },
  لا: { isolated: '\ufefb', final: '\ufefc' },
}

// The letter before the ligature decides its form. These letters do not join the next one.
const notJoining = 'ءآأؤإاةدذرزوٱڈڑژۀۃۋ'
const lamAlef = /([\u0620-\u064a\u066e-\u06d3])?(ل[آأإا])/gu
const zeroWidthJoiner = '\u200d'

/**
 * Returns the text with the compatibility character of each ligature, which NFKC turns into the two
 * letters again. A zero-width joiner keeps the form of the letter before it.
 */
export function replaceArabicLigatures(text: string): string {
  return text.replace(lamAlef, (_match, before: string | undefined, letters: string) => {
    const { isolated = letters, final = letters } = ligatures[letters] ?? {}
    if (before === undefined) return isolated
    return notJoining.includes(before) ? before + isolated : `${before}${zeroWidthJoiner}${final}`
  })
}
