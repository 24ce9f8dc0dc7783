// Reads the whole catalogue as document lines, ahead of the uploads.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { type DocumentLine, maxPayloadBytes, toDocumentLine } from '../documents/document-upload.ts'
import { readDocuments, readDocumentsAfter } from '../documents/product-to-document.ts'

/**
 * Larger pages would save queries, but cost more than that, because they outlive the young
 * generation of the garbage collector.
 */
const pageSize = 1_000

/** Reads every active product once, ordered by id, and again the products passed to readAgain(). */
export class CatalogueReader {
  readonly #db: Kysely<Tables>
  readonly #batchSize: () => number
  readonly #pages: AsyncGenerator<DocumentLine[], undefined>
  readonly #repeatedPages: string[][] = []
  #lines: DocumentLine[] = []
  #reading: Promise<void> = Promise.resolve()

  /** Starts to read. `batchSize` returns the number of lines that the next batch should have. */
  constructor(db: Kysely<Tables>, batchSize: () => number) {
    this.#db = db
    this.#batchSize = batchSize
    this.#pages = readPages(db)
    this.#readAhead()
  }

  /**
   * Returns the next lines: at most `batchSize()` lines and about one payload. The list is empty at
   * the end of the catalogue. Reads the following lines in the background.
   */
  async next(): Promise<DocumentLine[]> {
    await this.#reading
    const size = this.#batchSize()
    const batch = this.#lines.slice(0, size)
    this.#lines = this.#lines.slice(batch.length)
    if (batch.length > 0) this.#readAhead()
    return batch
  }

  /** Reads these products again. Products deleted or deactivated by then will be absent. */
  readAgain(productIds: string[]): void {
    for (let from = 0; from < productIds.length; from += pageSize)
      this.#repeatedPages.push(productIds.slice(from, from + pageSize))
    this.#readAhead()
  }

  /** Waits until nothing is being read. Ignores an error, which next() throws. */
  async waitUntilIdle(): Promise<void> {
    await this.#reading.catch(() => undefined)
  }

  #readAhead(): void {
    this.#reading = this.#reading.then(() => this.#fillBuffer())
    this.#reading.catch(() => undefined) // next() throws the error
  }

  async #fillBuffer(): Promise<void> {
    let bytes = textLength(this.#lines)
    while (this.#lines.length < this.#batchSize() && bytes < maxPayloadBytes) {
      const page = await this.#readPage()
      if (!page) return
      for (const line of page) this.#lines.push(line)
      bytes += textLength(page)
    }
  }

  async #readPage(): Promise<DocumentLine[] | undefined> {
    const productIds = this.#repeatedPages.shift()
    return productIds ? readLines(this.#db, productIds) : (await this.#pages.next()).value
  }
}

/** Returns the document lines of these products as they are now. */
export async function readLines(db: Kysely<Tables>, productIds: string[]): Promise<DocumentLine[]> {
  const lines: DocumentLine[] = []
  for (let from = 0; from < productIds.length; from += pageSize) {
    const documents = await readDocuments(db, productIds.slice(from, from + pageSize))
    for (const document of documents) lines.push(toDocumentLine(document))
  }
  return lines
}

/** Returns the length of these lines in UTF-16 code units, an estimate of their size in bytes. */
export function textLength(lines: DocumentLine[]): number {
  return lines.reduce((sum, { text }) => sum + text.length, 0)
}

async function* readPages(db: Kysely<Tables>): AsyncGenerator<DocumentLine[], undefined> {
  for (let afterId = '0'; ; ) {
    const documents = await readDocumentsAfter(db, afterId, pageSize)
    const last = documents.at(-1)
    if (!last) return
    afterId = last.id
    yield documents.map(toDocumentLine)
  }
}
