// A TCP proxy in front of a server that a test can slow down, stall or cut off to simulate outages.
import { connect, createServer, type Socket } from 'node:net'

export type FaultyProxy = {
  /** The server's URL with the address of the proxy. */
  url: string
  /** Every response of the server is delayed by this long. */
  delayMs: number
  /** Everything that clients sent to the server, as text. */
  sentText(): string
  /** Counts connections that the client closed while a response was delayed. */
  connectionsClosedByClient(): number
  /** Counts connections that were refused after `refuseConnections`. */
  refusedConnections(): number
  /** Closes every connection and refuses new ones. */
  refuseConnections(): void
  /** Keeps connections open but forwards nothing. */
  stopForwarding(): void
  /** Forwards again. Connections that were stalled are closed, because they have lost data. */
  restore(): void
}

type State = 'forwarding' | 'refusing' | 'stalled'

/** Starts a proxy to the server of `url`. It stops when the test ends. */
export async function startFaultyProxy(
  t: { teardown(fn: () => unknown): void },
  url: string,
): Promise<FaultyProxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const sent: Buffer[] = []
  let closedByClient = 0
  let refused = 0
  let state: State = 'forwarding'

  const server = createServer((client) => {
    if (state === 'refusing') {
      refused++
      return void client.destroy()
    }
    const upstream = connect({ host: target.hostname, port: Number(target.port) })
    let delayedRequests = 0
    client.on('data', (chunk) => {
      sent.push(chunk)
      if (proxy.delayMs > 0) delayedRequests++
      if (state === 'forwarding') upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (state !== 'forwarding') return
      if (proxy.delayMs === 0) return void client.write(chunk)
      setTimeout(() => {
        delayedRequests = 0
        if (!client.destroyed) client.write(chunk)
      }, proxy.delayMs)
    })
    client.on('close', () => {
      if (delayedRequests > 0 && state === 'forwarding' && !upstream.destroyed) closedByClient++
    })
    closeTogether(client, upstream, sockets)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const closeAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    closeAll()
    server.close()
  })
  const proxyUrl = new URL(url)
  proxyUrl.hostname = '127.0.0.1'
  proxyUrl.port = String((server.address() as { port: number }).port)
  const proxy: FaultyProxy = {
    url: proxyUrl.href,
    delayMs: 0,
    sentText: () => Buffer.concat(sent).toString(),
    connectionsClosedByClient: () => closedByClient,
    refusedConnections: () => refused,
    refuseConnections() {
      state = 'refusing'
      closeAll()
    },
    stopForwarding() {
      state = 'stalled'
    },
    restore() {
      if (state === 'stalled') closeAll()
      state = 'forwarding'
    },
  }
  return proxy
}

/** Closes each of the two sockets when the other fails or closes, and tracks both in `sockets`. */
function closeTogether(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket)
    socket.on('error', () => other.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
  }
}
