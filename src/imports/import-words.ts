// Imports a file of words for search: synonyms, pins or hidden words. Search uses them within
// seconds.
import type { ClientBase, Pool } from 'pg'
import { countNoun } from '../text/count-noun.ts'
import {
  findPhraseProblem,
  findQueryProblem,
  findSkuProblem,
  maxPinnedSkus,
  maxSynonyms,
  toStoredPhrase,
  toWordKey,
} from '../words/word-rules.ts'
import {
  type CellCheck,
  checkOneOf,
  checkYesOrNo,
  quoteForMessage,
  sqlListOfNoWords,
} from './cells/cell-checks.ts'
import { type CellReader, readLowerCase } from './cells/cell-readers.ts'
import { createRowReader, type RowRules } from './cells/row-rules.ts'
import { type FileColumns, ImportError, type WordFileKind, wordFileColumns } from './file-format.ts'
import {
  type ImportOptions,
  type ImportSummary,
  runInImportTransaction,
} from './import-transaction.ts'
import { type ImportWarning, readWarning, throwIfWarned } from './import-warnings.ts'
import type { ImportSource } from './readers/file-source.ts'
import { openTable } from './readers/open-table.ts'
import {
  addRepeatedKeyProblems,
  createProblemsTable,
  listInvalidRows,
  moveInvalidRowsToRejects,
  throwIfKeysAreUnknown,
  throwIfRowsAreInvalid,
} from './row-problems.ts'
import { stageRows } from './staging-table.ts'

type WordImportOptions = ImportOptions & {
  /**
   * The file is the whole list: rows of the table that are not in it are deleted. A file without
   * valid rows is an error unless the table is empty.
   */
  isFull?: boolean
}

export type WordsSummary = ImportSummary & {
  /** Rows that were deleted because they are not in the file. */
  deleted: number
}

const checkViolation = '23514'

/**
 * Imports a table of words: all rows or none, or all valid rows if `rejectedRows` is given. The first
 * column identifies a row. If the import is rejected, throws an ImportError and leaves the database
 * unchanged.
 */
export async function importWords(
  pool: Pool,
  kind: WordFileKind,
  source: ImportSource,
  options: WordImportOptions = {},
): Promise<WordsSummary> {
  const { onStep, rejectedRows, isFull = false, isStrict = false } = options
  const wordFile = wordFiles[kind]
  const { fileColumns, rules, key } = wordFile
  return runInImportTransaction(pool, { ...options, kind }, async (client) => {
    onStep?.('reading')
    const file = await openTable(source, fileColumns, options)
    const read = await stageRows(client, file, {
      ...options,
      readRow: createRowReader(rules, file.columns),
      keyColumn: key,
    })
    onStep?.('checking')
    await createProblemsTable(client)
    await addRepeatedKeyProblems(client, key)
    if (!rejectedRows) await throwIfRowsAreInvalid(client)
    else if (isFull)
      await throwIfKeysAreUnknown(client, file, {
        key,
        reason: 'Correct this first: --full would delete a row although the file may have it.',
      })
    // Before the invalid rows leave `staged`: a word with an invalid row is not deleted.
    const rejectedKeys = isFull ? await readRejectedKeys(client, key) : []
    const rejected = await moveInvalidRowsToRejects(client, rejectedRows, file)
    if (isFull && read === rejected) await throwIfEmptied(client, wordFile)
    onStep?.('writing')
    const warnings = kind === 'pins' ? await findUnknownSkus(client) : []
    if (isStrict) throwIfWarned(warnings)
    const deleted = isFull
      ? await deleteAllExcept(client, wordFile, rejectedKeys).catch(explainLimit)
      : 0
    const written = await writeWords(client, wordFile, file.columns).catch(explainLimit)
    const unchanged = read - rejected - written.inserted - written.updated
    return { readAs: file.readAs, read, ...written, deleted, unchanged, rejected, warnings }
  })
}

/** A file without valid rows is usually a failed export, and rarely a wish to delete everything. */
async function throwIfEmptied(client: ClientBase, { table }: WordFile): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from ${table}`,
  )
  const count = rows[0]?.count ?? 0
  if (count === 0) return
  const { total, lines } = await listInvalidRows(client)
  const advice = `To delete them on purpose, run this SQL: delete from ${table};`
  throw new ImportError(
    [
      `The file has no valid rows, and --full would delete ${countNoun(count, 'row')} of ` +
        `${table}. Nothing was deleted.${total === 0 ? ` ${advice}` : ''}`,
      ...lines,
    ].join('\n'),
  )
}

async function readRejectedKeys(client: ClientBase, key: string): Promise<string[]> {
  const { rows } = await client.query<{ key: string }>(`
    select distinct search_phrase(staged.${key}) as key
    from problems join staged using (file_line) where staged.${key} is not null`)
  return rows.map((row) => row.key)
}

function findUnknownSkus(client: ClientBase): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'unknown_skus',
    `select file_line, place, format('%s, pinned to "%s"', pinned.sku, query) as example
    from staged cross join unnest(${splitList('skus')}) with ordinality as pinned (sku, place)
    where not exists (
      select from products where products.sku_key = code_key(pinned.sku) and products.active
    )`,
    { order: 'file_line, place' },
  )
}

/** Deletes all rows of the table but those in `staged` and those with a rejected key. */
async function deleteAllExcept(
  client: ClientBase,
  { table, key }: WordFile,
  rejectedKeys: string[],
): Promise<number> {
  const { rowCount } = await client.query(
    `delete from ${table} existing
    where not exists (select from staged where staged.${key} = existing.${key})
      and existing.${key} <> all ($1::text[])`,
    [rejectedKeys],
  )
  return rowCount ?? 0
}

/**
 * Inserts and updates the valid rows in `staged`. Columns that the file does not have keep their
 * values, and get their default in new rows.
 */
async function writeWords(
  client: ClientBase,
  { table, key, values }: WordFile,
  columns: string[],
): Promise<Pick<WordsSummary, 'inserted' | 'updated'>> {
  const given = Object.entries(values).filter(([column]) => columns.includes(column))
  const names = given.map(([column]) => column)
  const expressions = given.map(([, expression]) => expression)
  const updated =
    given.length === 0
      ? null
      : await client.query(`
          update ${table} existing
          set ${given.map(([column, expression]) => `${column} = ${expression}`).join(', ')}
          from staged
          where existing.${key} = staged.${key}
            and row(${names.map((name) => `existing.${name}`)})
              is distinct from row(${expressions})`)
  const inserted = await client.query(`
    insert into ${table} (${[key, ...names]})
    select ${[`staged.${key}`, ...expressions]} from staged
    where not exists (select from ${table} existing where existing.${key} = staged.${key})
    order by staged.file_line`)
  return { inserted: inserted.rowCount ?? 0, updated: updated?.rowCount ?? 0 }
}

function explainLimit(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === checkViolation)
    throw new ImportError(`${error.message} Nothing was imported.`, { cause: error })
  throw error
}

/** Separates the values of a cell that is a list. */
const listSeparator = '|'

const readPhrase: CellReader = (cell) => ({ plain: toStoredPhrase(cell) })

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

const synonymRules: RowRules<string> = {
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

const pinRules: RowRules<string> = {
  nonEmpty: wordFileColumns.pins.required,
  readers: { query: readPhrase, skus: readListOf((sku) => sku) },
  cells: {
    query: (cell) => prefixWithValue(cell, findQueryProblem(cell)),
    skus: checkEach(findSkuProblem, { most: maxPinnedSkus, what: 'SKUs' }),
  },
  crossCellRules: [],
}

const hiddenWordRules: RowRules<string> = {
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

type WordFile = {
  fileColumns: FileColumns
  rules: RowRules<string>
  table: string
  /** The column that identifies a row of the file and of the table. */
  key: 'word' | 'query'
  values: Record<string, string>
}

const splitList = (column: string) => `string_to_array(staged.${column}, '${listSeparator}')`

const wordFiles: Record<WordFileKind, WordFile> = {
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
