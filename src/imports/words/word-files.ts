// The kinds of files of words: the columns and rules of each, and the table that it is written to.

import type { RowRules } from '../cells/row-rules.ts'
import { sqlListOfNoWords } from '../cells/yes-no-cells.ts'
import { type FileColumns, type WordFileKind, wordFileColumns } from '../file-columns.ts'
import { hiddenWordRules, listSeparator, pinRules, synonymRules } from './word-cell-rules.ts'

export type WordFile = {
  fileColumns: FileColumns
  rules: RowRules<string>
  table: string
  /** The column that identifies a row of the file and of the table. */
  key: 'word' | 'query'
  /** SQL of the other columns of the table. */
  values: Record<string, string>
}

/** SQL of the values of a cell that is a list. */
export const splitList = (column: string) => `string_to_array(staged.${column}, '${listSeparator}')`

export const wordFiles: Record<WordFileKind, WordFile> = {
  synonyms: {
    fileColumns: wordFileColumns.synonyms,
    rules: synonymRules,
    table: 'search_synonyms',
    key: 'word',
    values: {
      synonyms: splitList('synonyms'),
      two_way: `coalesce(staged.two_way not in (${sqlListOfNoWords}), true)`,
    },
  },
  pins: {
    fileColumns: wordFileColumns.pins,
    rules: pinRules,
    table: 'search_pins',
    key: 'query',
    values: { skus: splitList('skus') },
  },
  'hidden-words': {
    fileColumns: wordFileColumns['hidden-words'],
    rules: hiddenWordRules,
    table: 'search_hidden_words',
    key: 'word',
    values: { hides: `coalesce(staged.hides, 'synonyms')` },
  },
}
