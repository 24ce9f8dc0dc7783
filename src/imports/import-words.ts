// Imports a file of words for search: synonyms, pins or hidden words. Search uses them within
// seconds.
import type { ClientBase, Pool } from 'pg'
import { countNoun } from '../text/count-noun.ts'
import { sqlListOfNoWords } from './cells.ts'
import { ImportError } from './file-format.ts'
import { listSeparator, type WordFileKind } from './file-kinds.ts'
import { type ImportWarning, readWarning } from './import-warnings.ts'
import type { ImportSource } from './readers/file-source.ts'
import { addRepeatedKeyProblems, listInvalidRows, throwIfKeysAreUnknown } from './row-problems.ts'
import { type ImportOptions, type ImportSummary, runImport } from './run-import.ts'

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

const splitList = (column: string) => `string_to_array(staged.${column}, '${listSeparator}')`

/** Where the rows of a file go. `key` identifies a row of the file and of the table. */
type WordTable = { table: string; key: 'word' | 'query'; values: Record<string, string> }

const wordTables: Record<WordFileKind, WordTable> = {
  synonyms: {
    table: 'search_synonyms',
    key: 'word',
    values: {
      synonyms: splitList('synonyms'),
      two_way: `coalesce(staged.two_way not in (${sqlListOfNoWords}), true)`,
    },
  },
  pins: { table: 'search_pins', key: 'query', values: { skus: splitList('skus') } },
  'hidden-words': {
    table: 'search_hidden_words',
    key: 'word',
    values: { hides: `coalesce(staged.hides, 'synonyms')` },
  },
}

/** Imports a table of words: all rows or none, or all valid rows if `rejectedRows` is given. */
export async function importWords(
  pool: Pool,
  kind: WordFileKind,
  source: ImportSource,
  options: WordImportOptions = {},
): Promise<WordsSummary> {
  const { isFull = false } = options
  const words = wordTables[kind]
  return runImport(pool, source, options, {
    kind,
    addProblems: ({ client }) => addRepeatedKeyProblems(client, words.key),
    async compare({ client, file }) {
      if (!isFull) return []
      await throwIfKeysAreUnknown(
        client,
        file,
        'Correct this first: --full would delete a row although the file may have it.',
      )
      // Before the invalid rows leave `staged`: a word with an invalid row is not deleted.
      return readRejectedKeys(client, words.key)
    },
    async write({ client, file, read, rejected }, rejectedKeys) {
      if (isFull && read === rejected) await throwIfEmptied(client, words)
      const warnings = kind === 'pins' ? await findUnknownSkus(client) : []
      const deleted = isFull
        ? await deleteAllExcept(client, words, rejectedKeys).catch(explainLimit)
        : 0
      const written = await writeWords(client, words, file.columns).catch(explainLimit)
      return { ...written, deleted, warnings }
    },
  })
}

/** A file without valid rows is usually a failed export, and rarely a wish to delete everything. */
async function throwIfEmptied(client: ClientBase, { table }: WordTable): Promise<void> {
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
  { table, key }: WordTable,
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
  { table, key, values }: WordTable,
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

/** Explains a violation of a check of the table. */
function explainLimit(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === '23514')
    throw new ImportError(`${error.message} Nothing was imported.`, { cause: error })
  throw error
}
