// Imports a file of words for search: synonyms, pins or hidden words. Search uses them within
// seconds.
import type { ClientBase, Pool } from 'pg'
import { countNoun } from '../../text/count-noun.ts'
import { sqlListOfNoWords } from '../cells/cell-checks.ts'
import { createRowChecker } from '../cells/check-row.ts'
import { readRows } from '../csv/read-rows.ts'
import { type FileColumns, wordFileColumns } from '../file-columns.ts'
import { ImportError } from '../import-error.ts'
import type { ImportOptions, ImportSummary, WordFileKind } from '../import-options.ts'
import { runInImportTransaction } from '../import-transaction.ts'
import { type ImportWarning, maxWarningExamples, throwIfWarned } from '../import-warnings.ts'
import {
  addRepeatedKeyProblems,
  createProblemsTable,
  throwIfRowsAreInvalid,
} from '../row-problems.ts'
import { stageRows } from '../staging-table.ts'
import { rejectInvalidRows } from '../write-rejected-rows.ts'
import { createWordRowRules, listSeparator } from './word-cell-rules.ts'

export type WordImportOptions = ImportOptions & {
  /**
   * The file is the whole list: rows of the table that are not in it are deleted. A file without
   * rows is an error unless the table is empty.
   */
  isFull?: boolean
}

export type WordsSummary = ImportSummary & {
  /** Rows that were deleted because they are not in the file. */
  deleted: number
}

const splitList = (column: string) => `string_to_array(s.${column}, '${listSeparator}')`

type WordTable = { table: string; key: 'word' | 'query'; values: [string, string][] }

/** The table of each kind of file, its key, and the SQL of its other columns. */
const tables: Record<WordFileKind, WordTable> = {
  synonyms: {
    table: 'search_synonyms',
    key: 'word',
    values: [
      ['synonyms', splitList('synonyms')],
      ['two_way', `coalesce(s.two_way not in (${sqlListOfNoWords}), true)`],
    ],
  },
  pins: { table: 'search_pins', key: 'query', values: [['skus', splitList('skus')]] },
  'hidden-words': {
    table: 'search_hidden_words',
    key: 'word',
    values: [['hides', `coalesce(s.hides, 'synonyms')`]],
  },
}

const checkViolation = '23514'

/**
 * Imports a CSV of words: all rows or none, or all valid rows if `rejectedRows` is given. The first
 * column identifies a row. If the import is rejected, throws an ImportError and leaves the database
 * unchanged.
 */
export async function importWords(
  pool: Pool,
  kind: WordFileKind,
  csv: AsyncIterable<string | Buffer>,
  options: WordImportOptions = {},
): Promise<WordsSummary> {
  const { onStep, rejectedRows, isFull = false, isStrict = false } = options
  const fileColumns: FileColumns = { ...wordFileColumns[kind], numbers: [], dates: [] }
  const { key } = tables[kind]
  return runInImportTransaction(pool, { ...options, kind }, async (client) => {
    onStep?.('reading')
    const rows = await readRows(csv, fileColumns, options)
    const { read, suggestedFormat } = await stageRows(client, rows, {
      ...options,
      checkRow: createRowChecker(createWordRowRules(kind), rows.columns),
      keyColumn: key,
    })
    onStep?.('checking')
    if (isFull && read === 0) await throwIfEmptied(client, kind)
    await createProblemsTable(client)
    await addRepeatedKeyProblems(client, key)
    if (!rejectedRows) await throwIfRowsAreInvalid(client, suggestedFormat)
    const rejectedKeys = await readRejectedKeys(client, key)
    const rejected = await rejectInvalidRows(client, rejectedRows, rows)
    onStep?.('writing')
    const warnings = kind === 'pins' ? await findUnknownSkus(client) : []
    if (isStrict) throwIfWarned(warnings)
    const keptKeys = isFull ? rejectedKeys : null
    const written = await writeWords(client, kind, rows.columns, keptKeys).catch(explainLimit)
    const unchanged = read - rejected - written.inserted - written.updated
    return { read, ...written, unchanged, rejected, warnings }
  })
}

/** A file without rows is usually a failed export, and rarely a wish to delete everything. */
async function throwIfEmptied(client: ClientBase, kind: WordFileKind): Promise<void> {
  const { table } = tables[kind]
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from ${table}`,
  )
  const count = rows[0]?.count ?? 0
  if (count === 0) return
  throw new ImportError(
    `The file has a header but no rows, and --full would delete ${countNoun(count, 'row')} of ` +
      `${table}. Nothing was deleted. To delete them on purpose, run this SQL: ` +
      `delete from ${table};`,
  )
}

/** Returns the keys of invalid rows. A full import does not delete their rows of the table. */
async function readRejectedKeys(client: ClientBase, key: string): Promise<string[]> {
  const { rows } = await client.query<{ key: string }>(`
    select distinct search_phrase(s.${key}) as key
    from problems join staged s using (line) where s.${key} is not null`)
  return rows.map((row) => row.key)
}

async function findUnknownSkus(client: ClientBase): Promise<ImportWarning[]> {
  const { rows } = await client.query<{ query: string; sku: string }>(`
    select s.query, pinned as sku from staged s, unnest(${splitList('skus')}) as pinned
    where not exists (select from products p where p.sku_key = code_key(pinned) and p.active)
    order by s.line`)
  if (rows.length === 0) return []
  const examples = rows
    .slice(0, maxWarningExamples)
    .map(({ query, sku }) => `${sku}, pinned to "${query}"`)
  return [{ kind: 'unknown_skus', count: rows.length, examples }]
}

/**
 * Inserts and updates the valid rows in `staged`. Columns that the file does not have get their
 * default. If `keptKeys` is given, deletes all other rows of the table first.
 */
async function writeWords(
  client: ClientBase,
  kind: WordFileKind,
  columns: string[],
  keptKeys: string[] | null,
): Promise<Pick<WordsSummary, 'inserted' | 'updated' | 'deleted'>> {
  const { table, key, values } = tables[kind]
  const given = values.filter(([column]) => columns.includes(column))
  const names = given.map(([column]) => column)
  const expressions = given.map(([, expression]) => expression)
  const deleted = keptKeys
    ? await client.query(
        `delete from ${table} t
         where not exists (select from staged s where s.${key} = t.${key})
           and t.${key} <> all ($1::text[])`,
        [keptKeys],
      )
    : null
  const updated =
    given.length === 0
      ? null
      : await client.query(`
          update ${table} t
          set ${given.map(([column, expression]) => `${column} = ${expression}`).join(', ')}
          from staged s
          where t.${key} = s.${key}
            and row(${names.map((name) => `t.${name}`)}) is distinct from row(${expressions})`)
  const inserted = await client.query(`
    insert into ${table} (${[key, ...names]})
    select ${[`s.${key}`, ...expressions]} from staged s
    where not exists (select from ${table} t where t.${key} = s.${key})
    order by s.line`)
  return {
    inserted: inserted.rowCount ?? 0,
    updated: updated?.rowCount ?? 0,
    deleted: deleted?.rowCount ?? 0,
  }
}

/** Explains the error of the trigger that limits the rows and pairs of a table. */
function explainLimit(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === checkViolation)
    throw new ImportError(`${error.message} Nothing was imported.`, { cause: error })
  throw error
}
