// The response bodies with the same statistics: JSON or CSV, plain or compressed. Each is made when
// it is first requested, and made again when `asOf` has advanced.
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib'
import type { ContentEncoding } from '../http/compressed-content.ts'
import type { Stats, StatsWithoutAsOf } from './schema.ts'
import { type CsvForm, formatCsv } from './stats-csv.ts'

export type Format = 'json' | CsvForm

/** The bytes, or their promise while they are compressed. */
type Body = { asOf: string; bytes: Buffer | Promise<Buffer> }

// All other requests of the process would wait for a compression that is not in another thread: at
// 900 kB (130 years of months) it takes about 30 ms.
const gzipInThread = promisify(gzip)
const brotliInThread = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress)
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

export class ResponseBodies {
  readonly #stats: StatsWithoutAsOf
  readonly #etags = new Map<Format, string>()
  readonly #bodies = new Map<string, Body>()

  constructor(stats: StatsWithoutAsOf) {
    this.#stats = stats
  }

  /** The name of a file with these statistics, without its extension. */
  get fileName(): string {
    const { from, to } = this.#stats.period
    return `stats-${from}-${to}`
  }

  /**
   * Returns the ETag of all bodies of a format. It identifies the statistics without `asOf`, so it
   * is weak: bodies with the same tag differ in their bytes.
   */
  etagOf(format: Format): string {
    const known = this.#etags.get(format)
    if (known) return known
    const text = format === 'json' ? JSON.stringify(this.#stats) : this.#format(format, '')
    const etag = `W/"${createHash('sha256').update(text).digest('base64url')}"`
    this.#etags.set(format, etag)
    return etag
  }

  /**
   * Returns the body that states this `asOf`: RFC 3339 text, in UTC. Returns a promise only while
   * it is compressed. All callers that ask for it meanwhile share the promise.
   */
  get(format: Format, encoding: ContentEncoding, asOf: string): Body['bytes'] {
    const key = `${format} ${encoding}`
    const existing = this.#bodies.get(key)
    if (existing?.asOf === asOf) return existing.bytes
    const body: Body = { asOf, bytes: this.#create(format, encoding, asOf) }
    this.#bodies.set(key, body)
    if (body.bytes instanceof Promise)
      body.bytes.then(
        (bytes) => Object.assign(body, { bytes }),
        () => this.#bodies.delete(key),
      )
    return body.bytes
  }

  #create(format: Format, encoding: ContentEncoding, asOf: string): Body['bytes'] {
    const plain = Buffer.from(this.#format(format, asOf))
    if (encoding === 'identity') return plain
    return encoding === 'gzip' ? gzipInThread(plain) : brotliInThread(plain, brotliOptions)
  }

  #format(format: Format, asOf: string): string {
    const stats: Stats = { asOf, ...this.#stats }
    return format === 'json' ? JSON.stringify(stats) : formatCsv(stats, format)
  }
}
