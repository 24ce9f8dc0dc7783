// Folds accents and letter case, in the variants that search and indexing need.

const ascii = /^[\0-\x7f]*$/

/** Returns the text without accents. Does not change letter case. */
export function removeAccents(text: string): string {
  return ascii.test(text) ? text : text.normalize('NFD').replace(/\p{M}/gu, '')
}

/** Returns the text in lower case and without accents, except that ñ stays ñ. */
export function foldTextKeepingEnye(text: string): string {
  return text.toLowerCase().normalize('NFC').split('ñ').map(removeAccents).join('ñ')
}

/** Returns the words with ñ, folded except for ñ. */
export function findEnyeWords(text: string): string[] {
  if (!/ñ|\u0303/i.test(text)) return []
  return (foldTextKeepingEnye(text).match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => /ñ/.test(word))
}
