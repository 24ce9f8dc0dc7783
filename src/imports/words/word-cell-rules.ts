// The rules for the cells of files of words: synonyms, pins and hidden words.
import {
  findPhraseProblem,
  findQueryProblem,
  findSkuProblem,
  maxPinnedSkus,
  maxSynonyms,
  toStoredPhrase,
  toWordKey,
} from '../../words/word-rules.ts'
import {
  type CellCheck,
  type CellReader,
  checkOneOf,
  quoteForMessage,
} from '../cells/cell-checks.ts'
import type { RowRules } from '../cells/row-rules.ts'
import { checkYesOrNo } from '../cells/yes-no-cells.ts'
import { wordFileColumns } from '../file-columns.ts'

/** Separates the values of a cell that is a list. */
export const listSeparator = '|'

const readPhrase: CellReader = (cell) => ({ plain: toStoredPhrase(cell) })
const readLowerCase: CellReader = (cell) => ({ plain: cell.toLowerCase() })

/** Reads a list such as `drill | driver`, and drops empty and repeated values. */
const readListOf =
  (read: (value: string) => string): CellReader =>
  (cell) => {
    const values = cell.split(listSeparator).map((value) => read(value.trim()))
    return { plain: [...new Set(values.filter((value) => value !== ''))].join(listSeparator) }
  }

const checkEach =
  (
    findProblem: (value: string) => string | undefined,
    { most, what }: { most: number; what: string },
  ): CellCheck =>
  (cell) => {
    const values = cell.split(listSeparator)
    if (values.length > most) return `has ${values.length} ${what}: at most ${most} are allowed`
    for (const value of values) {
      const problem = findProblem(value)
      if (problem !== undefined) return prefixWithValue(value, problem)
    }
    return undefined
  }

/** Puts the value before its problem, if it has one. */
function prefixWithValue(value: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${quoteForMessage(value)} ${problem}`
}

const checkPhrase: CellCheck = (cell) => prefixWithValue(cell, findPhraseProblem(cell))
const checkHiddenWord: CellCheck = (cell) => (cell === '*' ? undefined : checkPhrase(cell))

export const synonymRules: RowRules<string> = {
  nonEmpty: wordFileColumns.synonyms.required,
  readers: { word: readPhrase, synonyms: readListOf(toStoredPhrase), two_way: readLowerCase },
  cells: {
    word: checkPhrase,
    synonyms: checkEach(findPhraseProblem, { most: maxSynonyms, what: 'synonyms' }),
    two_way: checkYesOrNo,
  },
  crossCellRules: [
    {
      columns: ['synonyms', 'word'],
      findProblem: (synonyms: string, word: string) => {
        const key = toWordKey(word)
        const same = synonyms.split(listSeparator).find((synonym) => toWordKey(synonym) === key)
        return same === undefined || key === ''
          ? undefined
          : `${quoteForMessage(same)} is the word itself`
      },
    },
  ],
}

export const pinRules: RowRules<string> = {
  nonEmpty: wordFileColumns.pins.required,
  readers: { query: readPhrase, skus: readListOf((sku) => sku) },
  cells: {
    query: (cell) => prefixWithValue(cell, findQueryProblem(cell)),
    skus: checkEach(findSkuProblem, { most: maxPinnedSkus, what: 'SKUs' }),
  },
  crossCellRules: [],
}

export const hiddenWordRules: RowRules<string> = {
  nonEmpty: wordFileColumns['hidden-words'].required,
  readers: { word: readPhrase, hides: readLowerCase },
  cells: { word: checkHiddenWord, hides: checkOneOf(['synonyms', 'word']) },
  crossCellRules: [
    {
      columns: ['hides', 'word'],
      findProblem: (hides: string, word: string) =>
        word === '*' && hides === 'word'
          ? 'the word * stands for all built-in synonyms: it can only hide synonyms'
          : undefined,
    },
  ],
}
