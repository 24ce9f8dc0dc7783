// The response bodies with the same statistics: JSON or CSV, plain or compressed. Each is made when
// it is first requested, and made again when `asOf` has advanced.
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib'
import type { ContentEncoding } from '../http/compressed-content.ts'
import type { Stats, StatsWithoutAsOf } from './schema.ts'
import { type CsvForm, formatCsv } from './stats-csv.ts'

export type Format = 'json' | CsvForm

type Body = { asOf: string; bytes: Buffer }

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
/**
 * Larger bodies are compressed in another thread, because all other requests of the process would
 * wait. At this size, that takes about 2 ms, and at 900 kB (130 years of months) about 30 ms.
 * Smaller bodies are ready sooner without another thread.
 */
const maxSyncBytes = 100_000

export class ResponseBodies {
  readonly #stats: StatsWithoutAsOf
  readonly #onResize: () => void
  readonly #etags: Partial<Record<Format, string>> = {}
  readonly #bodies: Record<Format, Partial<Record<ContentEncoding, Body>>> = {
    json: {},
    csv: {},
    'csv-point': {},
    'csv-comma': {},
  }
  /** The bodies that are being compressed in another thread. */
  readonly #compressing = new Map<string, Promise<Buffer>>()

  /** `onResize` is called after the kept bodies have changed. */
  constructor(stats: StatsWithoutAsOf, onResize: () => void = () => undefined) {
    this.#stats = stats
    this.#onResize = onResize
  }

  /** The name of a file with these statistics, without its extension. */
  get fileName(): string {
    const { from, to } = this.#stats.period
    return `stats-${from}-${to}`
  }

  /** Returns the number of bytes of all bodies that are kept. */
  countBytes(): number {
    const bodies = Object.values(this.#bodies).flatMap((byEncoding) => Object.values(byEncoding))
    return bodies.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  /**
   * Returns the ETag of all bodies of a format. It identifies the statistics without `asOf`, so it
   * is weak: bodies with the same tag differ in their bytes.
   */
  etagOf(format: Format): string {
    this.#etags[format] ??= computeEtag(
      format === 'json' ? JSON.stringify(this.#stats) : this.#format(format, ''),
    )
    return this.#etags[format]
  }

  /**
   * Returns the body that states this `asOf`: RFC 3339 text, in UTC. Returns a promise only for a
   * large body that is not compressed yet. All callers that ask for it meanwhile share the promise.
   */
  get(format: Format, encoding: ContentEncoding, asOf: string): Buffer | Promise<Buffer> {
    const existing = this.#bodies[format][encoding]
    if (existing?.asOf === asOf) return existing.bytes
    const plain = this.#getPlain(format, asOf)
    if (encoding === 'identity') return plain
    if (plain.length <= maxSyncBytes)
      return this.#keep(format, encoding, { asOf, bytes: compressSync(plain, encoding) })
    const key = `${format} ${encoding} ${asOf}`
    const running = this.#compressing.get(key)
    if (running) return running
    const started = compress(plain, encoding)
      .then((bytes) => {
        // Meanwhile another `asOf` may have been requested, and its body may be kept already.
        const isNewest = this.#bodies[format].identity?.asOf === asOf
        return isNewest ? this.#keep(format, encoding, { asOf, bytes }) : bytes
      })
      .finally(() => this.#compressing.delete(key))
    this.#compressing.set(key, started)
    return started
  }

  #getPlain(format: Format, asOf: string): Buffer {
    const existing = this.#bodies[format].identity
    if (existing?.asOf === asOf) return existing.bytes
    return this.#keep(format, 'identity', { asOf, bytes: Buffer.from(this.#format(format, asOf)) })
  }

  #keep(format: Format, encoding: ContentEncoding, body: Body): Buffer {
    const replaced = this.#bodies[format][encoding]
    this.#bodies[format][encoding] = body
    if (body.bytes.length !== replaced?.bytes.length) this.#onResize()
    return body.bytes
  }

  #format(format: Format, asOf: string): string {
    const stats: Stats = { asOf, ...this.#stats }
    return format === 'json' ? JSON.stringify(stats) : formatCsv(stats, format)
  }
}

function computeEtag(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url')}"`
}

type Compression = Exclude<ContentEncoding, 'identity'>

function compressSync(bytes: Buffer, encoding: Compression): Buffer {
  return encoding === 'gzip' ? gzipSync(bytes) : brotliCompressSync(bytes, brotliOptions)
}

const gzipInThread = promisify(gzip)
const brotliInThread = promisify<Buffer, typeof brotliOptions, Buffer>(brotliCompress)

function compress(bytes: Buffer, encoding: Compression): Promise<Buffer> {
  return encoding === 'gzip' ? gzipInThread(bytes) : brotliInThread(bytes, brotliOptions)
}
