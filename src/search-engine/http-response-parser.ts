// Reads one HTTP/1.1 reply from the bytes of a connection: with a length, in chunks, or up to the end of the connection (RFC 9112, section 6.3).

export type HttpReply = { status: number; body: string; keepAlive: boolean }

export type ReplyReader = {
  /** The reply once it is whole. Throws on what is no HTTP/1.1. */
  read(chunk: Buffer): HttpReply | null
  /** The connection has ended: the reply if that is what ends it, else null. */
  end(): HttpReply | null
  begun(): boolean
}

const endOfHead = '\r\n\r\n'

export function replyReader(): ReplyReader {
  let bytes: Buffer = Buffer.alloc(0)
  let head: {
    status: number
    keepAlive: boolean
    length: number | 'chunked' | 'close'
    bodyAt: number
  } | null = null

  function whole(body: string): HttpReply {
    const { status, keepAlive } = head as NonNullable<typeof head>
    return { status, keepAlive, body }
  }

  return {
    read(chunk) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      head ??= readHead(bytes)
      if (!head) return null
      const { length, bodyAt } = head
      if (length === 'close') return null
      if (length === 'chunked') {
        const body = unchunk(bytes, bodyAt)
        return body && whole(body.toString())
      }
      return bytes.length < bodyAt + length
        ? null
        : whole(bytes.toString('utf8', bodyAt, bodyAt + length))
    },
    end: () => (head?.length === 'close' ? whole(bytes.toString('utf8', head.bodyAt)) : null),
    begun: () => bytes.length > 0,
  }
}

function readHead(bytes: Buffer) {
  const end = bytes.indexOf(endOfHead)
  if (end < 0) return null
  const text = bytes.toString('latin1', 0, end + 2)
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1])
  if (!status) throw new Error(`no HTTP/1.1 reply: ${text.slice(0, 50)}`)
  const length = /\r\ntransfer-encoding:[^\r]*chunked/i.test(text)
    ? ('chunked' as const)
    : Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? Number.NaN)
  const keepAlive = text.startsWith('HTTP/1.1') && !/\r\nconnection:[^\r]*close/i.test(text)
  return {
    status,
    keepAlive,
    length: Number.isNaN(length) ? ('close' as const) : length,
    bodyAt: end + endOfHead.length,
  }
}

/** The body, or null while its last chunk has not come. */
function unchunk(bytes: Buffer, bodyAt: number): Buffer | null {
  const pieces: Buffer[] = []
  for (let at = bodyAt; ; ) {
    const endOfLine = bytes.indexOf('\r\n', at)
    if (endOfLine < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', at, endOfLine), 16)
    if (Number.isNaN(size)) throw new Error('a chunk of the reply has no size')
    const start = endOfLine + 2
    if (size === 0) return bytes.indexOf('\r\n', start) < 0 ? null : Buffer.concat(pieces)
    if (bytes.length < start + size + 2) return null
    pieces.push(bytes.subarray(start, start + size))
    at = start + size + 2
  }
}
