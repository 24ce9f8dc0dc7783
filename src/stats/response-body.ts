// Response bodies of one answer: each format and encoding is produced once and has its own ETag.
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Stats } from './schema.ts'
import { formatCsv } from './stats-csv.ts'

export type Format = 'json' | 'csv-en' | 'csv-es'
export type Encoding = 'identity' | 'gzip' | 'br'
export type ResponseBody = { bytes: Buffer; etag: string; type: string }

const jsonType = 'application/json; charset=utf-8'
const csvType = 'text/csv; charset=utf-8; header=present'
const brotliQuality = 5

export class ResponseBodies {
  readonly #json: string
  readonly #bodies: Record<Format, Partial<Record<Encoding, ResponseBody>>> = {
    json: {},
    'csv-en': {},
    'csv-es': {},
  }

  /** `json` is the answer as JSON text. */
  constructor(json: string) {
    this.#json = json
  }

  get(format: Format, encoding: Encoding): ResponseBody {
    const existing = this.#bodies[format][encoding]
    if (existing) return existing
    const body =
      encoding === 'identity'
        ? this.#produce(format)
        : compress(this.get(format, 'identity'), encoding)
    this.#bodies[format][encoding] = body
    return body
  }

  #produce(format: Format): ResponseBody {
    const text = format === 'json' ? this.#json : this.#formatCsv(format)
    const bytes = Buffer.from(text)
    const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
    return { bytes, etag, type: format === 'json' ? jsonType : csvType }
  }

  #formatCsv(format: 'csv-en' | 'csv-es'): string {
    return formatCsv(JSON.parse(this.#json) as Stats, format === 'csv-es' ? 'es' : 'en')
  }
}

/** The compressed body has another ETag, because a strong ETag identifies bytes. */
function compress({ bytes, etag, type }: ResponseBody, encoding: 'gzip' | 'br'): ResponseBody {
  const compressed =
    encoding === 'gzip'
      ? gzipSync(bytes)
      : brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } })
  return { bytes: compressed, etag: `${etag.slice(0, -1)}-${encoding}"`, type }
}
