// Reads the whole catalogue as payloads for the search engine, ahead of the uploads.
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import {
  type DocumentLine,
  maxPayloadBytes,
  type Payload,
  toDocumentLine,
  toPayloads,
} from '../documents/document-upload.ts'
import { readDocuments, readProductsAfter, toDocument } from '../documents/product-to-document.ts'
import { preventUnhandledRejection } from '../scheduling/prevent-unhandled-rejection.ts'

/**
 * The usual sizes of an upload are multiples of this. Larger pages would save queries, but cost
 * more than they save, because they outlive the young generation of the garbage collector.
 */
const pageSize = 1_250

/** Reads every active product once, ordered by id, and again the products passed to readAgain(). */
export class CatalogueReader {
  readonly #db: Kysely<Tables>
  readonly #chooseUploadSize: () => number
  readonly #pages: AsyncGenerator<Payload[], undefined>
  readonly #repeatedPages: string[][] = []
  /** One payload for each page. Keeping single lines would cost the garbage collector more. */
  #payloads: Payload[] = []
  #reading: Promise<void> = Promise.resolve()

  /** Starts to read. `chooseUploadSize` returns how many products the next payload should have. */
  constructor(db: Kysely<Tables>, chooseUploadSize: () => number) {
    this.#db = db
    this.#chooseUploadSize = chooseUploadSize
    this.#pages = readPages(db)
    this.#readAhead()
  }

  /**
   * Returns the next products: at most `chooseUploadSize()`, but at least one page of them, if
   * they fit into a payload. Undefined at the end of the catalogue. Reads the following products in
   * the background.
   */
  async next(): Promise<Payload | undefined> {
    await this.#reading
    const count = countThatFit(this.#payloads, this.#chooseUploadSize())
    const payloads = this.#payloads.slice(0, count)
    this.#payloads = this.#payloads.slice(count)
    if (payloads.length === 0) return undefined
    this.#readAhead()
    return joinPayloads(payloads)
  }

  /** Reads these products again. Products that are deleted or inactive by then are absent. */
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
    this.#reading = preventUnhandledRejection(this.#reading.then(() => this.#fillBuffer()))
  }

  /** Reads until the buffer contains the next payload, or the catalogue ends. */
  async #fillBuffer(): Promise<void> {
    let { ids, bytes } = sumPayloads(this.#payloads)
    while (ids < this.#chooseUploadSize() && bytes < maxPayloadBytes) {
      const page = await this.#readPage()
      if (!page) return
      this.#payloads.push(...page)
      const read = sumPayloads(page)
      ids += read.ids
      bytes += read.bytes
    }
  }

  async #readPage(): Promise<Payload[] | undefined> {
    const productIds = this.#repeatedPages.shift()
    if (!productIds) return (await this.#pages.next()).value
    return toPayloads(await readLines(this.#db, productIds))
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

async function* readPages(db: Kysely<Tables>): AsyncGenerator<Payload[], undefined> {
  for (let afterId = '0'; ; ) {
    const products = await readProductsAfter(db, afterId, pageSize)
    const last = products.at(-1)
    if (!last) return
    afterId = last.id
    // A list of the documents would keep them alive, which costs the garbage collector 2 µs each.
    yield toPayloads(products.map((product) => toDocumentLine(toDocument(product))))
  }
}

function joinPayloads(payloads: Payload[]): Payload {
  return {
    ids: payloads.flatMap(({ ids }) => ids),
    ndjson: payloads.map(({ ndjson }) => ndjson).join(''),
    bytes: sumPayloads(payloads).bytes,
  }
}

/** Returns how many of the first payloads fit into one with at most `maxIds` products. */
function countThatFit(payloads: Payload[], maxIds: number): number {
  let sum = { ids: 0, bytes: 0 }
  const count = payloads.findIndex((payload, place) => {
    sum = { ids: sum.ids + payload.ids.length, bytes: sum.bytes + payload.bytes }
    return place > 0 && (sum.ids > maxIds || sum.bytes > maxPayloadBytes)
  })
  return count === -1 ? payloads.length : count
}

function sumPayloads(payloads: Payload[]): { ids: number; bytes: number } {
  return {
    ids: payloads.reduce((sum, { ids }) => sum + ids.length, 0),
    bytes: payloads.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
