// A TCP proxy in front of a server that a test can slow down, stall or cut off to simulate outages.
import { connect, createServer, type Socket } from 'node:net'

/** Starts a proxy to the server of `url`. It stops when the test ends. */
export async function startFaultyProxy(
  t: { teardown(fn: () => unknown): void },
  url: string,
): Promise<FaultyProxy> {
  const proxy = new FaultyProxy(url)
  await proxy.listen()
  t.teardown(() => proxy.close())
  return proxy
}

export class FaultyProxy {
  /** The connection of the next requests that contain this text is closed, so many times. */
  cut = { text: '', times: 0 }
  /** Every response of the server is delayed by this long. The order of the bytes is kept. */
  delayMs = 0
  /** Responses to requests that contain this text are delayed by `slowMs` more. */
  slowText: string | null = null
  slowMs = 2_000
  /** How many connections the client has closed while a response was delayed. */
  abortedConnections = 0
  /** How many connections were refused after `refuseConnections`. */
  refusedConnections = 0
  /** How often clients have sent something on connections that were forgotten. */
  lostRequests = 0
  readonly #serverUrl: URL
  readonly #listener = createServer((client) => this.#accept(client))
  readonly #sockets = new Set<Socket>()
  readonly #forgotten = new WeakSet<Socket>()
  /** The connections on which a response has not begun. */
  readonly #waiting = new Set<Socket>()
  readonly #sent: Buffer[] = []
  #state: 'forwarding' | 'refusing' | 'stalled' = 'forwarding'

  constructor(serverUrl: string) {
    this.#serverUrl = new URL(serverUrl)
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#listener.listen(0, '127.0.0.1', resolve))
  }

  close(): void {
    this.#closeConnections()
    this.#listener.close()
  }

  /** The server's URL with the address of the proxy. */
  get url(): string {
    const url = new URL(this.#serverUrl)
    url.hostname = '127.0.0.1'
    url.port = String((this.#listener.address() as { port: number }).port)
    return url.href
  }

  /** Returns everything that clients sent to the server, as text. */
  getSentText(): string {
    return Buffer.concat(this.#sent).toString()
  }

  /** Closes every connection and refuses new ones. */
  refuseConnections(): void {
    this.#state = 'refusing'
    this.#closeConnections()
  }

  /** Keeps connections open but forwards nothing. */
  stopForwarding(): void {
    this.#state = 'stalled'
  }

  /**
   * Forwards nothing any more on the connections that are open now, and keeps them open. New
   * connections work, and so do the `kept` oldest ones. A balancer that forgets connections does
   * the same.
   */
  forgetConnections({ kept = 0 } = {}): void {
    // Each connection consists of two sockets.
    const open = [...this.#sockets]
    for (const socket of open.slice(2 * kept)) this.#forgotten.add(socket)
  }

  /** Counts the connections on which the client waits for a response. */
  countWaitingConnections(): number {
    return this.#waiting.size
  }

  /** Counts the connections that are open. */
  countConnections(): number {
    return this.#sockets.size / 2
  }

  /** Forwards again. Closes connections that were stalled, because they have lost data. */
  restore(): void {
    if (this.#state === 'stalled') this.#closeConnections()
    this.#state = 'forwarding'
  }

  #accept(client: Socket): void {
    if (this.#state === 'refusing') {
      this.refusedConnections += 1
      client.destroy()
      return
    }
    const { hostname, port } = this.#serverUrl
    const server = connect({ host: hostname, port: Number(port) })
    this.#forward(client, server)
    this.#closeTogether(client, server)
  }

  #forward(client: Socket, server: Socket): void {
    let delayedRequests = 0
    let extraMs = 0
    const delayed: Buffer[] = []
    client.on('data', (chunk) => {
      this.#sent.push(chunk)
      this.#waiting.add(client)
      if (this.#forgotten.has(client)) this.lostRequests += 1
      if (this.cut.times > 0 && chunk.includes(this.cut.text)) {
        this.cut.times -= 1
        client.destroy()
        return
      }
      extraMs = this.slowText !== null && chunk.includes(this.slowText) ? this.slowMs : 0
      if (this.delayMs + extraMs > 0) delayedRequests += 1
      if (this.#state === 'forwarding' && !this.#forgotten.has(client)) server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (this.#state !== 'forwarding' || this.#forgotten.has(client)) return
      const delayMs = this.delayMs + extraMs
      if (delayMs === 0 && delayed.length === 0) {
        this.#waiting.delete(client)
        client.write(chunk)
        return
      }
      // Each timer sends the oldest chunk, so a change of the delay cannot reorder the chunks.
      delayed.push(chunk)
      setTimeout(() => {
        delayedRequests = 0
        this.#waiting.delete(client)
        const oldest = delayed.shift()
        if (oldest && !client.destroyed) client.write(oldest)
      }, delayMs).unref()
    })
    client.on('close', () => {
      this.#waiting.delete(client)
      if (delayedRequests > 0 && this.#state === 'forwarding' && !server.destroyed)
        this.abortedConnections += 1
    })
  }

  /** Closes each of two sockets when the other one fails or closes. */
  #closeTogether(client: Socket, server: Socket): void {
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
    }
  }

  #closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
