// Compresses content that is the same for every client, in the encodings that clients accept.
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { type ContentEncoding, chooseEncoding } from '../http/choose-encoding.ts'

// Level 9 takes some milliseconds, but only once. A smaller memLevel makes more blocks, each with a
// code of its own: that suits a script with a style sheet in it.
const compressWithGzip = (bytes: Buffer) => gzipSync(bytes, { level: 9, memLevel: 6 })
const compressors: Record<ContentEncoding, (bytes: Buffer) => Buffer> = {
  br: brotliCompressSync,
  gzip: compressWithGzip,
  identity: (bytes: Buffer) => bytes,
}

export type EncodedContent = {
  bytes: Buffer
  etag: string
  type: string
  encoding: ContentEncoding
}
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
  const encoded = new Map<ContentEncoding, EncodedContent>()
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
