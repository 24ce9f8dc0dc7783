// A pool of keep-alive HTTP/1.1 connections to one server, with one request at a time on each.
//
// Node's own client costs three times the processor time for a search (100 µs against 35 µs, both
// with parsing the answer; undici costs 60 µs). That is as much as everything else a search does
// in this process.
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createResponseParser, type HttpResponse } from './http-response-parser.ts'

const maxConnections = 128

type PendingRequest = {
  message: string
  signal: AbortSignal
  resolve(response: HttpResponse): void
  reject(error: unknown): void
  canRetry: boolean
}

export class HttpPool {
  readonly #openSocket: () => Socket
  readonly #commonHeaders: string
  readonly #connections = new Set<Connection>()
  readonly #idle: Connection[] = []
  readonly #queue: PendingRequest[] = []

  /**
   * A pool of at most 128 connections to the server of `url`; further requests queue. `headers` are
   * sent with every request. Close it with `close()`.
   */
  constructor(url: URL, headers: Record<string, string>) {
    this.#openSocket = createSocketOpener(url)
    this.#commonHeaders = Object.entries({ host: url.host, ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
  }

  /**
   * Sends a request and returns the response. Rejects with a connection error, or with the reason
   * of `signal` when it aborts. An abort also closes the connection, so that the server can stop
   * working.
   */
  send(method: string, path: string, body: string, signal: AbortSignal): Promise<HttpResponse> {
    const bodyHeaders =
      body === ''
        ? ''
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
    const headers = `${this.#commonHeaders}${bodyHeaders}`
    const message = `${method} ${path} HTTP/1.1\r\n${headers}\r\n${body}`
    return new Promise((resolve, reject) =>
      this.#start({ message, signal, resolve, reject, canRetry: true }),
    )
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy()
  }

  /** Sends the request on an idle or new connection, or queues it. */
  #start(request: PendingRequest): void {
    const { signal, reject } = request
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const canOpen = this.#connections.size < maxConnections
    const connection = this.#idle.pop() ?? (canOpen ? this.#openConnection() : undefined)
    if (connection) connection.send(request)
    else {
      this.#queue.push(request)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }
  }

  #startNext(): void {
    let request = this.#queue.shift()
    while (request?.signal.aborted) request = this.#queue.shift()
    if (request) this.#start(request)
  }

  #openConnection(): Connection {
    const connection: Connection = new Connection(this.#openSocket(), {
      onResponse: (isReusable) => {
        if (isReusable) this.#idle.push(connection)
        this.#startNext()
      },
      onClose: (requestToRetry) => {
        this.#connections.delete(connection)
        const idleIndex = this.#idle.indexOf(connection)
        if (idleIndex >= 0) this.#idle.splice(idleIndex, 1)
        if (requestToRetry) this.#start(requestToRetry)
        this.#startNext()
      },
    })
    this.#connections.add(connection)
    return connection
  }
}

type ConnectionEvents = {
  /** Called after each response. If the connection is not reusable, it is being closed. */
  onResponse(isReusable: boolean): void
  /** Called once, with the request that must be sent again on another connection. */
  onClose(requestToRetry: PendingRequest | null): void
}

/** Sends one request at a time on a socket. */
class Connection {
  readonly #socket: Socket
  readonly #events: ConnectionEvents
  #request: PendingRequest | null = null
  #parser = createResponseParser()
  #hasResponded = false
  #isClosed = false

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket
    this.#events = events
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error) => this.#handleClose(error))
    socket.on('close', () => this.#handleEnd())
  }

  readonly destroy = (): void => {
    this.#socket.destroy()
  }

  send(request: PendingRequest): void {
    this.#request = request
    request.signal.addEventListener('abort', this.destroy)
    this.#socket.write(request.message)
  }

  #read(chunk: Buffer): void {
    // The server sends something that was not requested.
    if (!this.#request) {
      this.destroy()
      return
    }
    try {
      const response = this.#parser.read(chunk)
      if (response) this.#finishRequest(response)
    } catch (error) {
      this.#takeRequest()?.reject(error)
      this.destroy()
    }
  }

  #finishRequest(response: HttpResponse): void {
    const request = this.#takeRequest()
    this.#hasResponded = true
    this.#parser = createResponseParser()
    if (!response.keepAlive) this.destroy()
    request?.resolve(response)
    this.#events.onResponse(response.keepAlive)
  }

  /** The end of the connection may be the end of a response. */
  #handleEnd(): void {
    const response = this.#request && this.#parser.end()
    if (response) this.#takeRequest()?.resolve(response)
    this.#handleClose(new Error('the connection was closed'))
  }

  #handleClose(error: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const request = this.#takeRequest()
    // A server may close an idle connection just as a request is sent on it. Searches have no
    // side effects, so such a request is sent once more on another connection.
    const wasClosedWhileIdle = this.#hasResponded && !this.#parser.hasBegun()
    if (request?.canRetry && wasClosedWhileIdle && !request.signal.aborted) {
      this.#events.onClose({ ...request, canRetry: false })
      return
    }
    request?.reject(request.signal.aborted ? request.signal.reason : error)
    this.#events.onClose(null)
  }

  #takeRequest(): PendingRequest | null {
    const request = this.#request
    request?.signal.removeEventListener('abort', this.destroy)
    this.#request = null
    return request
  }
}

/** Returns a function that connects to the server of `url`, with TLS if the URL has https. */
function createSocketOpener(url: URL): () => Socket {
  const isTls = url.protocol === 'https:'
  // An IPv6 address has brackets in a URL, but not for connecting.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (isTls ? 443 : 80)
  // TLS names the server by host name only, never by address.
  if (isTls) return () => connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
  return () => connect({ host, port })
}
