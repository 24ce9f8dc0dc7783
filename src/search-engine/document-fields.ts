// The fields of a product's document in the search index, and those that a hit shows.
import { type Product, type SearchedName, shownNames } from '../products/fields.ts'

type OtherSearchedName = Exclude<SearchedName, 'name'>
export type WordsAttribute = 'words' | `${OtherSearchedName}Words`

/** Returns the attribute with the folded words of a field, as src/text/tokens.ts splits them. */
export const toWordsAttribute = (name: SearchedName): WordsAttribute =>
  name === 'name' ? 'words' : `${name}Words`

export type ProductDocument = Product &
  Record<WordsAttribute, string> & {
    /** The SKU without separators, in lower case, and without accents too, for exact matches. */
    skuKeys: string[]
    /**
     * The SKU key and its endings, without accents. The engine matches prefixes only; the middle of
     * a code is the prefix of one of its endings.
     */
    skuForms: string[]
    /** The SKU with O as 0, I as 1 and S as 5 (toLookAlike). */
    lookAlike: string
    /** Other forms of these words: plurals and singulars, written together, without umlauts. */
    otherWords: string[]
    /** The keys of all codes, sizes and numbers (src/text/tokens.ts). A query filters by them. */
    codes: string[]
    /** How often the product is quoted, in steps from 0 (never) to 9 (`step` in popularity.ts). */
    popularity: number
    /**
     * The number of words in the name. Of equal matches, the one with the shorter name comes first.
     */
    nameWords: number
    /** Its place among the 100 products that are quoted most often, from 1; null for all others. */
    quotedRank: number | null
  }

/** The attributes that a hit shows. */
export const shownAttributes = ['id', ...shownNames] as const
