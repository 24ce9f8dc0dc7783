// Builds files in memory for imports of any kind, and reads what an import has written.
import { Readable, Writable } from 'node:stream'
import { sql } from 'kysely'
import type { Test } from 'tap'
import { ImportError } from '../../src/imports/file-format.ts'
import { importProducts } from '../../src/imports/import-products.ts'
import type { TestDatabase } from '../support/database/test-database.ts'

export const csvFile = (content: string | Buffer) => Readable.from([content])

/** A stream that collects rejected rows, and their text. */
export function collectRejectedRows(): { rejectedRows: Writable; content: () => string } {
  const chunks: string[] = []
  const rejectedRows = new Writable({
    write(chunk, _encoding, callback) {
      chunks.push(String(chunk))
      callback()
    },
  })
  return { rejectedRows, content: () => chunks.join('') }
}

/** Lets the tests of a file share one database. */
export async function deleteProducts({ db }: TestDatabase): Promise<void> {
  await db.deleteFrom('products').execute()
  await db.deleteFrom('index_outbox').execute()
  await db.deleteFrom('search_indexes').execute()
}

export async function readProducts({ db }: TestDatabase): Promise<Record<string, unknown>[]> {
  const { rows } = await sql<Record<string, unknown>>`
    select sku, name, description, category, brand, unit, price, currency, hs_code,
      origin_country, active
    from products order by id`.execute(db)
  return rows
}

/**
 * Reads every row that an import might write, with its position and the transaction that wrote it.
 */
export async function readEveryRow({ db }: TestDatabase) {
  const { rows } = await sql`select ctid, xmin, p.* from products p order by id`.execute(db)
  const { rows: changes } = await sql`select * from index_outbox order by id`.execute(db)
  return { rows, changes }
}

/** Returns the error of an import that must fail, after checking that nothing was written. */
export async function readImportError(
  t: Test,
  database: TestDatabase,
  content: string | Buffer,
): Promise<string> {
  return readErrorOf(t, {
    readEveryRow: () => readEveryRow(database),
    runImport: () => importProducts(database.pool, csvFile(content)),
  })
}

/** Does the same for an import of any kind. `readEveryRow` reads what it might write. */
export async function readErrorOf(
  t: Test,
  {
    readEveryRow,
    runImport,
  }: { readEveryRow: () => Promise<unknown>; runImport: () => Promise<unknown> },
): Promise<string> {
  const before = await readEveryRow()
  const error = await runImport().then(
    () => new Error('was imported'),
    (error: unknown) => error,
  )
  t.same(await readEveryRow(), before, 'the database is unchanged')
  return error instanceof ImportError ? error.message : `not an ImportError: ${error}`
}
