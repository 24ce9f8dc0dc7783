// The whole catalogue as it is sent to the engine, read while the engine is at work.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { type Line, maxPayloadBytes, toLine } from '../document-upload.ts'
import { readDocuments, readDocumentsAfter } from '../read-documents.ts'

/** Small ones are garbage before they grow old, which saves more than they cost PostgreSQL. */
const pageSize = 1_000

export type Catalogue = {
  /** The next lines, about `size()` and at most about one payload's bytes; none when there are no more. What follows is read meanwhile. */
  next(): Promise<Line[]>
  /** Has these products read once more. Those that are gone or inactive by then will be absent. */
  again(ids: string[]): void
  /** Waits until nothing is being read. */
  rest(): Promise<void>
}

/** Every active product once, in the order of ids. */
export function openCatalogue(db: Kysely<Tables>, size: () => number): Catalogue {
  const pages = readPages(db)
  const repeated: string[][] = []
  let lines: Line[] = []

  async function read(): Promise<void> {
    for (let bytes = textLength(lines); lines.length < size() && bytes < maxPayloadBytes; ) {
      const ids = repeated.shift()
      const page = ids ? await readLines(db, ids) : (await pages.next()).value
      if (!page) return
      for (const line of page) lines.push(line)
      bytes += textLength(page)
    }
  }
  let reading = Promise.resolve()
  const readOn = () => {
    reading = reading.then(read)
    reading.catch(() => undefined) // thrown where it is waited for
  }
  readOn()
  return {
    async next() {
      await reading
      const part = lines.slice(0, size())
      lines = lines.slice(part.length)
      if (part.length > 0) readOn()
      return part
    },
    again(ids) {
      for (let from = 0; from < ids.length; from += pageSize)
        repeated.push(ids.slice(from, from + pageSize))
      readOn()
    },
    rest: () => reading.catch(() => undefined),
  }
}

async function* readPages(db: Kysely<Tables>): AsyncGenerator<Line[], undefined> {
  for (let after = '0'; ; ) {
    const documents = await readDocumentsAfter(db, after, pageSize)
    const last = documents.at(-1)
    if (!last) return
    after = last.id
    yield documents.map(toLine)
  }
}

/** These products as they are now. */
export async function readLines(db: Kysely<Tables>, ids: string[]): Promise<Line[]> {
  const lines: Line[] = []
  for (let from = 0; from < ids.length; from += pageSize) {
    for (const document of await readDocuments(db, ids.slice(from, from + pageSize)))
      lines.push(toLine(document))
  }
  return lines
}

export const textLength = (lines: Line[]) => lines.reduce((sum, { text }) => sum + text.length, 0)
