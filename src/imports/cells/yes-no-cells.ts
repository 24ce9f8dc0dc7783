// Cells that say yes or no, such as the column active of products.
import { type CellCheck, quoteForMessage } from './cell-checks.ts'

/** Yes and no, as people and spreadsheets write them, in lower case. */
const yesWords = ['true', 'yes', 'sí', 'si', 'verdadero', '1']
/** Only ASCII words, because PostgreSQL compares them with lower(). */
const noWords = ['false', 'no', 'falso', '0']
const words = [...yesWords, ...noWords]

/** For SQL such as `x in (…)`. */
export const sqlListOfNoWords = noWords.map((word) => `'${word}'`).join(', ')

/** Requires one of the words, in upper or lower case. */
export const checkYesOrNo: CellCheck = (cell) =>
  words.includes(cell.normalize('NFC').toLowerCase())
    ? undefined
    : `${quoteForMessage(cell)} is not one of ${words.join(', ')}`
