// Singular and plural forms, by their endings, of words in the languages of Western Europe. All
// words are folded. The forms are stored in the index or compared with words that exist, so a form
// that is no word does no harm. One letter more or less needs no rule where typos are tolerated.

/** Shorter words have no other forms: with a different ending they are often different words. */
const minLetters = 3
const minLettersForBareEnding = 4

/** An ending of singular words, and the endings that their plurals may have. */
const endings: [singular: string, plurals: string[]][] = [
  ['z', ['ces']],
  ['y', ['ies']],
  ['f', ['ves']],
  ['fe', ['ves']],
  ['ao', ['oes', 'aes', 'aos']],
  ['el', ['eis']],
  ['al', ['ais', 'aux']],
  ['ol', ['ois']],
  ['ul', ['uis']],
  ['il', ['is', 'eis']],
  ['em', ['ens']],
  ['ey', ['eis']],
  ['ouse', ['ice']],
  ['ild', ['ildren']],
  ['oot', ['eet']],
  ['ooth', ['eeth']],
  ['man', ['men']],
  ['co', ['chi', 'ci']],
  ['go', ['ghi', 'gi']],
  ['ca', ['che']],
  ['ga', ['ghe']],
]

/** Returns a folded word followed by its possible plurals and singulars, some of them no words. */
export function listNumberForms(word: string): string[] {
  if (word.length < minLetters || !/^[a-z]+$/.test(word)) return [word]
  const forms = new Set([word])
  for (const [singular, plurals] of endings) {
    if (word.endsWith(singular))
      for (const plural of plurals) forms.add(word.slice(0, -singular.length) + plural)
    for (const plural of plurals)
      if (word.endsWith(plural)) forms.add(word.slice(0, -plural.length) + singular)
  }
  if (/[^aeiou]es$/.test(word) && word.length > minLettersForBareEnding)
    forms.add(word.slice(0, -2))
  if (word.endsWith('s')) forms.add(word.slice(0, -1)).add(`${word}es`)
  else for (const plural of listLikelyPlurals(word)) forms.add(plural)
  // German: Blatt, Blätter; Rad, Räder.
  if (/..er$/.test(word)) forms.add(word.slice(0, -2))
  return [...forms].filter((form) => form === word || form.length >= minLetters - 1)
}

/** Returns the plurals of a folded singular, the likelier first; none if the word ends in s. */
export function listLikelyPlurals(word: string): string[] {
  if (word.endsWith('s')) return []
  if (word.endsWith('z')) return [`${word.slice(0, -1)}ces`]
  if (/[^aeiou]y$/.test(word)) return [`${word.slice(0, -1)}ies`]
  if (/[aeiou]$/.test(word)) return [`${word}s`]
  return [`${word}s`, `${word}es`]
}
