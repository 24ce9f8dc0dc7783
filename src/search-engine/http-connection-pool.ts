// Requests to one HTTP server on connections that are kept alive, one request at a time on each: what a keystroke needs, and no more. Node's own
// client costs three times the processor time (100 µs against 35 with parsing the answer; undici 60), as much as all else that a search does here.
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type HttpReply, replyReader } from './http-response-parser.ts'

export type HttpPool = {
  /** Rejects when the server does not answer, or with the reason of `signal`, whose abort also breaks the connection: the server may stop working. */
  send(method: string, path: string, body: string, signal: AbortSignal): Promise<HttpReply>
  close(): void
}

const maxConnections = 128

type Waiting = {
  text: string
  signal: AbortSignal
  resolve(reply: HttpReply): void
  reject(error: unknown): void
  mayRepeat: boolean
}
type Take = (waiting: Waiting) => void

/** Connections to the server of `url`, at most 128; who comes when all are taken waits. `headers` go with every request. Close with `close()`. */
export function httpPool(url: URL, headers: Record<string, string>): HttpPool {
  const tls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (tls ? 443 : 80)
  const common = Object.entries({ host: url.host, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const connections = new Set<Socket>()
  const idle: Take[] = []
  const queue: Waiting[] = []

  /** A connection is known by how it takes a request. */
  function open(): Take {
    const socket = tls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
      : connect({ host, port })
    socket.setNoDelay(true)
    connections.add(socket)
    let current: Waiting | null = null
    let used = false
    let reader = replyReader()
    const onAbort = () => socket.destroy()

    function finish(): Waiting | null {
      const finished = current
      current?.signal.removeEventListener('abort', onAbort)
      current = null
      return finished
    }

    function fail(error: Error): void {
      if (!connections.delete(socket)) return
      if (idle.includes(take)) idle.splice(idle.indexOf(take), 1)
      const failed = finish()
      if (failed?.signal.aborted) failed.reject(failed.signal.reason)
      // A kept connection that the server closed meanwhile says nothing about the server: asking is harmless, so ask again.
      else if (failed?.mayRepeat && used && !reader.begun()) start({ ...failed, mayRepeat: false })
      else failed?.reject(error)
      next()
    }

    socket.on('data', (chunk: Buffer) => {
      try {
        const reply = current ? reader.read(chunk) : null
        if (!current) socket.destroy()
        if (reply) answer(reply)
      } catch (error) {
        finish()?.reject(error)
        socket.destroy()
      }
    })
    socket.on('error', fail)
    socket.on('close', () => {
      const reply = current && reader.end()
      if (reply) finish()?.resolve(reply)
      fail(new Error('the connection was closed'))
    })

    function answer(reply: HttpReply): void {
      const answered = finish()
      used = true
      reader = replyReader()
      if (reply.keepAlive) idle.push(take)
      else socket.destroy()
      answered?.resolve(reply)
      next()
    }

    function take(waiting: Waiting): void {
      current = waiting
      waiting.signal.addEventListener('abort', onAbort)
      socket.write(waiting.text)
    }
    return take
  }

  function start(waiting: Waiting): void {
    const { signal, reject } = waiting
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const take = idle.pop() ?? (connections.size < maxConnections ? open() : undefined)
    if (take) take(waiting)
    else {
      queue.push(waiting)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }
  }

  function next(): void {
    let waiting = queue.shift()
    while (waiting?.signal.aborted) waiting = queue.shift()
    if (waiting) start(waiting)
  }

  return {
    send(method, path, body, signal) {
      const content =
        body === ''
          ? ''
          : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
      const text = `${method} ${path} HTTP/1.1\r\n${common}${content}\r\n${body}`
      return new Promise((resolve, reject) =>
        start({ text, signal, resolve, reject, mayRepeat: true }),
      )
    },
    close() {
      for (const socket of connections) socket.destroy()
    },
  }
}
