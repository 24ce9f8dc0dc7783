// Chooses the encoding of a response, and compresses content that is the same for every client.
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

export type ContentEncoding = 'br' | 'gzip' | 'identity'

const compressing: ContentEncoding[] = ['br', 'gzip']

/** The types of negotiator lack the second parameter. */
type EncodingNegotiator = {
  encoding(available: string[], options: { preferred: string[] }): string | undefined
}

/**
 * Returns the encoding that the client prefers. If it accepts several equally, whatever their order
 * in the header, returns the one that compresses best. Returns `identity` without a header, and if
 * the client accepts none of them.
 */
export function chooseEncoding(headers: IncomingHttpHeaders): ContentEncoding {
  const negotiator: EncodingNegotiator = new Negotiator({ headers })
  const options = { preferred: compressing }
  const chosen = negotiator.encoding([...compressing, 'identity'], options)
  return (chosen as ContentEncoding | undefined) ?? 'identity'
}

// Content is compressed once, outside the main thread. Brotli's best level would take 16 times as
// long for a script that is 9 % smaller. A smaller memLevel makes more blocks, each with a code of
// its own: that suits a script with a style sheet in it.
const compressors: Record<ContentEncoding, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9, memLevel: 6 }),
  identity: async (bytes) => bytes,
}

export class CompressedContent {
  /** The first twelve characters of the hash of the content. */
  readonly version: string
  /** The value of the attribute `integrity`: browsers reject other content. */
  readonly integrity: string
  readonly #content: Buffer
  readonly #type: string
  readonly #encoded = new Map<ContentEncoding, Promise<Buffer>>()

  constructor(content: Buffer, type: string) {
    this.#content = content
    this.#type = type
    this.version = createHash('sha256').update(content).digest('base64url').slice(0, 12)
    this.integrity = `sha384-${createHash('sha384').update(content).digest('base64')}`
  }

  /** Returns the content in an encoding. It is compressed when that is first asked for. */
  encode(encoding: ContentEncoding): Promise<Buffer> {
    const existing = this.#encoded.get(encoding)
    if (existing) return existing
    const created = compressors[encoding](this.#content)
    this.#encoded.set(encoding, created)
    return created
  }

  /**
   * Sends the content in the encoding that the client prefers, or 304 if it has this content. The
   * caller sets Vary.
   */
  async send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const encoding = chooseEncoding(headers)
    const etag = `"${this.version}-${encoding}"`
    reply.header('etag', etag)
    if (matchesEtag(headers['if-none-match'], etag)) return reply.code(304).send()
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.type(this.#type).send(await this.encode(encoding))
  }
}

/** Returns whether the header matches, by the weak comparison that RFC 9110 requires for GET. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag || header.trim() === '*') return true
  return header.split(',').some((tag) => removeWeakness(tag.trim()) === removeWeakness(etag))
}

const removeWeakness = (tag: string) => tag.replace(/^W\//, '')
