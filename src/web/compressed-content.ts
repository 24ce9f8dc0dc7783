// Compresses content that is the same for every client, in the encodings that clients accept.
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import Negotiator from 'negotiator'

// Level 9 costs some milliseconds, once.
const compressWithGzip = (bytes: Buffer) => gzipSync(bytes, { level: 9 })
const compressors = {
  br: brotliCompressSync,
  gzip: compressWithGzip,
  identity: (bytes: Buffer) => bytes,
}
type Encoding = keyof typeof compressors
const encodingsBySize: Encoding[] = ['br', 'gzip']

export type EncodedContent = { bytes: Buffer; etag: string; type: string; encoding: Encoding }
export type CompressedContent = {
  /** The first twelve characters of the hash of the content. */
  version: string
  /** The value of the attribute `integrity`: browsers reject other content. */
  integrity: string
  /** Returns the content for a client that sends these request headers. */
  encodeFor(headers: IncomingHttpHeaders): EncodedContent
}

/** Compresses to each encoding when it is first requested. `type` is the Content-Type. */
export function compressContent(content: Buffer, type: string): CompressedContent {
  const version = createHash('sha256').update(content).digest('base64url').slice(0, 12)
  const integrity = `sha384-${createHash('sha384').update(content).digest('base64')}`
  const encoded = new Map<Encoding, EncodedContent>()
  return {
    version,
    integrity,
    encodeFor(headers) {
      const encoding = chooseEncoding(headers)
      const existing = encoded.get(encoding)
      if (existing) return existing
      const bytes = compressors[encoding](content)
      const created = { bytes, etag: `"${version}-${encoding}"`, type, encoding }
      encoded.set(encoding, created)
      return created
    },
  }
}

/** Returns the accepted encoding that compresses best. The order in the header does not matter. */
function chooseEncoding(headers: IncomingHttpHeaders): Encoding {
  const accepted = new Negotiator({ headers }).encodings()
  return encodingsBySize.find((encoding) => accepted.includes(encoding)) ?? 'identity'
}
