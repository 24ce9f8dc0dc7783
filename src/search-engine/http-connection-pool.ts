// A pool of keep-alive HTTP/1.1 connections to one server, with one request at a time on each.
//
// Node's own client costs three times the processor time for a search (100 µs against 35 µs, both
// with parsing the answer; undici costs 60 µs). That is as much as everything else a search does
// in this process.
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createResponseParser, type HttpResponse } from './http-response-parser.ts'

export type HttpPool = {
  /**
   * Sends a request. Rejects with a connection error, or with the reason of `signal` when it
   * aborts. An abort also closes the connection, so that the server can stop working.
   */
  send(method: string, path: string, body: string, signal: AbortSignal): Promise<HttpResponse>
  close(): void
}

const maxConnections = 128

type PendingRequest = {
  message: string
  signal: AbortSignal
  resolve(response: HttpResponse): void
  reject(error: unknown): void
  canRetry: boolean
}
/** A connection is represented by the function that sends a request on it. */
type Connection = (request: PendingRequest) => void

/**
 * Opens a pool of at most 128 connections to the server of `url`; further requests queue. `headers`
 * are sent with every request. Close it with `close()`.
 */
export function openHttpPool(url: URL, headers: Record<string, string>): HttpPool {
  const isTls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (isTls ? 443 : 80)
  const commonHeaders = Object.entries({ host: url.host, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const sockets = new Set<Socket>()
  const idle: Connection[] = []
  const queue: PendingRequest[] = []

  function openConnection(): Connection {
    const socket = isTls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
      : connect({ host, port })
    socket.setNoDelay(true)
    sockets.add(socket)
    let current: PendingRequest | null = null
    let hasAnswered = false
    let parser = createResponseParser()
    const destroySocket = () => socket.destroy()

    function takeCurrent(): PendingRequest | null {
      const request = current
      request?.signal.removeEventListener('abort', destroySocket)
      current = null
      return request
    }

    function discard(error: Error): void {
      if (!sockets.delete(socket)) return
      if (idle.includes(send)) idle.splice(idle.indexOf(send), 1)
      const request = takeCurrent()
      // A server may close an idle connection just as a request is sent on it. Searches have no
      // side effects, so such a request is sent once more on another connection.
      const wasClosedWhileIdle = hasAnswered && !parser.hasBegun()
      if (request?.signal.aborted) request.reject(request.signal.reason)
      else if (request?.canRetry && wasClosedWhileIdle) start({ ...request, canRetry: false })
      else request?.reject(error)
      startNext()
    }

    function finish(response: HttpResponse): void {
      const request = takeCurrent()
      hasAnswered = true
      parser = createResponseParser()
      if (response.keepAlive) idle.push(send)
      else socket.destroy()
      request?.resolve(response)
      startNext()
    }

    function send(request: PendingRequest): void {
      current = request
      request.signal.addEventListener('abort', destroySocket)
      socket.write(request.message)
    }

    socket.on('data', (chunk: Buffer) => {
      try {
        const response = current ? parser.read(chunk) : null
        if (!current) socket.destroy()
        if (response) finish(response)
      } catch (error) {
        takeCurrent()?.reject(error)
        socket.destroy()
      }
    })
    socket.on('error', discard)
    socket.on('close', () => {
      const response = current && parser.end()
      if (response) takeCurrent()?.resolve(response)
      discard(new Error('the connection was closed'))
    })
    return send
  }

  function start(request: PendingRequest): void {
    const { signal, reject } = request
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const canOpen = sockets.size < maxConnections
    const send = idle.pop() ?? (canOpen ? openConnection() : undefined)
    if (send) send(request)
    else {
      queue.push(request)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }
  }

  function startNext(): void {
    let request = queue.shift()
    while (request?.signal.aborted) request = queue.shift()
    if (request) start(request)
  }

  return {
    send(method, path, body, signal) {
      const bodyHeaders =
        body === ''
          ? ''
          : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
      const message = `${method} ${path} HTTP/1.1\r\n${commonHeaders}${bodyHeaders}\r\n${body}`
      return new Promise((resolve, reject) =>
        start({ message, signal, resolve, reject, canRetry: true }),
      )
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
