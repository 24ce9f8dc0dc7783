// Parses one HTTP/1.1 response from the bytes of a connection. The body ends by its length, by its
// last chunk, or with the connection (RFC 9112, section 6.3).

export type HttpResponse = { status: number; body: string; keepAlive: boolean }

export type ResponseParser = {
  /** Returns the response if it is complete, else null. Throws if the bytes are not HTTP/1.1. */
  read(chunk: Buffer): HttpResponse | null
  /** Returns the response if the end of the connection completes it, else null. */
  end(): HttpResponse | null
  /** Whether any byte of the response has been read. */
  hasBegun(): boolean
}

type Head = {
  status: number
  keepAlive: boolean
  /** Bytes of the body, or what ends it. */
  bodyLength: number | 'chunked' | 'until close'
  bodyStart: number
}

const endOfHead = '\r\n\r\n'
const endOfLine = '\r\n'

export function createResponseParser(): ResponseParser {
  let bytes: Buffer = Buffer.alloc(0)
  let head: Head | null = null

  return {
    read(chunk) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      head ??= parseHead(bytes)
      if (!head) return null
      const body = readBody(bytes, head)
      return body === null ? null : toResponse(head, body)
    },
    end() {
      if (head?.bodyLength !== 'until close') return null
      return toResponse(head, bytes.toString('utf8', head.bodyStart))
    },
    hasBegun: () => bytes.length > 0,
  }
}

function toResponse({ status, keepAlive }: Head, body: string): HttpResponse {
  return { status, keepAlive, body }
}

function parseHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf(endOfHead)
  if (end < 0) return null
  const text = bytes.toString('latin1', 0, end + endOfLine.length)
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1])
  if (!status) throw new Error(`not an HTTP/1.1 response: ${text.slice(0, 50)}`)
  const isChunked = /\r\ntransfer-encoding:[^\r]*chunked/i.test(text)
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
  return {
    status,
    keepAlive: text.startsWith('HTTP/1.1') && !/\r\nconnection:[^\r]*close/i.test(text),
    bodyLength: isChunked ? 'chunked' : length === undefined ? 'until close' : Number(length),
    bodyStart: end + endOfHead.length,
  }
}

/** Returns the body if it is complete, else null. */
function readBody(bytes: Buffer, { bodyLength, bodyStart }: Head): string | null {
  if (bodyLength === 'until close') return null
  if (bodyLength === 'chunked') return joinChunks(bytes, bodyStart)?.toString() ?? null
  const bodyEnd = bodyStart + bodyLength
  return bytes.length < bodyEnd ? null : bytes.toString('utf8', bodyStart, bodyEnd)
}

/** Returns the joined chunks, or null if the last one is missing. */
function joinChunks(bytes: Buffer, bodyStart: number): Buffer | null {
  const chunks: Buffer[] = []
  for (let position = bodyStart; ; ) {
    const lineEnd = bytes.indexOf(endOfLine, position)
    if (lineEnd < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', position, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error('a chunk of the response has no size')
    const start = lineEnd + endOfLine.length
    if (size === 0) return bytes.indexOf(endOfLine, start) < 0 ? null : Buffer.concat(chunks)
    const end = start + size
    if (bytes.length < end + endOfLine.length) return null
    chunks.push(bytes.subarray(start, end))
    position = end + endOfLine.length
  }
}
