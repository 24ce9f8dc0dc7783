// How many typos search allows in a word, and where it allows none.
import type { TypoTolerance } from 'meilisearch'
import { oneTypoLetters, twoTyposLetters } from '../../text/typos.ts'

/**
 * Words of 4 letters may have one typo, words of 8 letters two, numbers and codes none.
 * Measurements of real queries decided this. People have judged their hits.
 */
export const typoTolerance = {
  enabled: true,
  minWordSizeForTypos: { oneTypo: oneTypoLetters, twoTypos: twoTyposLetters },
  disableOnAttributes: ['hsCode', 'otherWords', 'skuForms', 'skuWords'],
  disableOnWords: [],
  disableOnNumbers: true,
} satisfies TypoTolerance
