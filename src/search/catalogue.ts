// The whole catalogue as it is sent to the engine.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { readDocuments, readDocumentsAfter } from './product-index.ts'
import { type Line, toLine } from './upload.ts'

/** Small ones are garbage before they grow old, which is cheaper than what they cost PostgreSQL. */
export const pageSize = 1_000

/** Every active product in the order of ids, in pages, each read when it is asked for. */
export async function* readCatalogue(db: Kysely<Tables>): AsyncGenerator<Line[], undefined> {
  for (let after = '0'; ; ) {
    const documents = await readDocumentsAfter(db, after, pageSize)
    const last = documents.at(-1)
    if (!last) return
    after = last.id
    yield documents.map(toLine)
  }
}

/** These products, as they are now. Those that are gone or inactive are absent. */
export async function readAgain(db: Kysely<Tables>, ids: string[]): Promise<Line[]> {
  const lines: Line[] = []
  for (let from = 0; from < ids.length; from += pageSize) {
    const documents = await readDocuments(db, ids.slice(from, from + pageSize))
    for (const document of documents) lines.push(toLine(document))
  }
  return lines
}
