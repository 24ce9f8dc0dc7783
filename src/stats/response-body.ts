// What is sent: the bytes of an answer as JSON or CSV, plain or compressed, each made once and with an ETag of its own.
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Stats } from './schema.ts'
import { toCsv } from './stats-csv.ts'

export type Format = 'json' | 'csv-en' | 'csv-es'
export type Encoding = 'identity' | 'gzip' | 'br'
export type Representation = { bytes: Buffer; etag: string; type: string; encoding: Encoding }

export type Finished = { as(format: Format, encoding: Encoding): Representation }

const types = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
}

/** The representations of an answer, given as JSON text. */
export function finish(body: string): Finished {
  const made: Record<Format, Partial<Record<Encoding, Representation>>> = {
    json: {},
    'csv-en': {},
    'csv-es': {},
  }

  function plain(format: Format): Representation {
    const bytes = Buffer.from(
      format === 'json'
        ? body
        : toCsv(JSON.parse(body) as Stats, format === 'csv-es' ? 'es' : 'en'),
    )
    const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
    return { bytes, etag, type: format === 'json' ? types.json : types.csv, encoding: 'identity' }
  }

  function as(format: Format, encoding: Encoding): Representation {
    const known = made[format][encoding]
    if (known) return known
    const representation =
      encoding === 'identity' ? plain(format) : compress(as(format, 'identity'), encoding)
    made[format][encoding] = representation
    return representation
  }
  return { as }
}

/** The same bytes compressed, under another ETag: a strong one names bytes, not meaning. */
function compress({ bytes, etag, type }: Representation, encoding: 'gzip' | 'br'): Representation {
  const compressed =
    encoding === 'gzip'
      ? gzipSync(bytes)
      : brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
  return { bytes: compressed, etag: `${etag.slice(0, -1)}-${encoding}"`, type, encoding }
}
