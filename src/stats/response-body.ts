// The response bodies with the same statistics: JSON or CSV, plain or compressed. Each is made when
// it is first requested, and made again when `asOf` has advanced.
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { ContentEncoding } from '../http/choose-encoding.ts'
import type { Stats, StatsWithoutAsOf } from './schema.ts'
import { formatCsv } from './stats-csv.ts'

export type Format = 'json' | 'csv-en' | 'csv-es'

type Body = { asOf: string; bytes: Buffer }

const brotliQuality = 5

export class ResponseBodies {
  readonly #stats: StatsWithoutAsOf
  readonly #onResize: () => void
  readonly #etags: Partial<Record<Format, string>> = {}
  readonly #bodies: Record<Format, Partial<Record<ContentEncoding, Body>>> = {
    json: {},
    'csv-en': {},
    'csv-es': {},
  }

  /** `onResize` is called after the kept bodies have changed. */
  constructor(stats: StatsWithoutAsOf, onResize: () => void = () => undefined) {
    this.#stats = stats
    this.#onResize = onResize
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
    this.#etags[format] ??= weakEtag(
      format === 'json' ? JSON.stringify(this.#stats) : this.#format(format, ''),
    )
    return this.#etags[format]
  }

  /** Returns the body that states this `asOf`: RFC 3339 text, in UTC. */
  get(format: Format, encoding: ContentEncoding, asOf: string): Buffer {
    const existing = this.#bodies[format][encoding]
    if (existing?.asOf === asOf) return existing.bytes
    const bytes =
      encoding === 'identity'
        ? Buffer.from(this.#format(format, asOf))
        : compress(this.get(format, 'identity', asOf), encoding)
    this.#bodies[format][encoding] = { asOf, bytes }
    if (bytes.length !== existing?.bytes.length) this.#onResize()
    return bytes
  }

  #format(format: Format, asOf: string): string {
    const stats: Stats = { asOf, ...this.#stats }
    if (format === 'json') return JSON.stringify(stats)
    return formatCsv(stats, format === 'csv-es' ? 'es' : 'en')
  }
}

function weakEtag(text: string): string {
  return `W/"${createHash('sha256').update(text).digest('base64url')}"`
}

function compress(bytes: Buffer, encoding: 'gzip' | 'br'): Buffer {
  return encoding === 'gzip'
    ? gzipSync(bytes)
    : brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } })
}
