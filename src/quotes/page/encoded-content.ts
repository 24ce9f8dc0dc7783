// A page or JSON in the encodings that clients accept, compressed once when it is rendered.
import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  brotliDecompress,
  constants,
  gzip,
  gzipSync,
} from 'node:zlib'
import { maxUncompressedCachedBytes } from '../rendering/rendering-limits.ts'

/** `identity` is null for large content. decodeContent then decompresses `br`. */
export type EncodedContent = { identity: Buffer | null; gzip: Buffer; br: Buffer }

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
const compressWithBrotli = promisify(brotliCompress)
const compressWithGzip = promisify(gzip)
const decompressBrotli = promisify(brotliDecompress)

/** Returns content in all encodings. Compresses in the thread pool. Use it for small content. */
export async function encodeSmallContent(identity: Buffer): Promise<EncodedContent> {
  const [gzipped, br] = await Promise.all([
    compressWithGzip(identity),
    compressWithBrotli(identity, brotliOptions),
  ])
  return { identity, gzip: gzipped, br }
}

/** Returns content in its encodings, without `identity` if it is large. Blocks this thread. */
export function encodeAnySizeSync(content: Buffer): EncodedContent {
  return {
    identity: content.length > maxUncompressedCachedBytes ? null : content,
    gzip: gzipSync(content),
    br: brotliCompressSync(content, brotliOptions),
  }
}

/** Returns the size of the content in all encodings, in bytes. */
export function getEncodedSize({ identity, gzip, br }: EncodedContent): number {
  return (identity?.length ?? 0) + gzip.length + br.length
}

/** Returns the bytes of the content without compression. */
export async function decodeContent({ identity, br }: EncodedContent): Promise<Buffer> {
  return identity ?? (await decompressBrotli(br))
}
