// A TCP proxy in front of a real server, that can hold back what passes, break off, and be there again: how tests make a server slow or away.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type SlowProxy = {
  port: number
  /** Holds every answer of the server back by this long. */
  delayMs: number
  /** Breaks all connections and refuses new ones. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

/** Listens on loopback in front of `target`. Ends with the test. */
export async function slowProxy(t: { teardown(fn: () => unknown): void }, target: { host: string; port: number }): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(target)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (chunk) => setTimeout(() => client.write(chunk), proxy.delayMs))
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const proxy: SlowProxy = {
    port: (server.address() as AddressInfo).port,
    delayMs: 0,
    goAway: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
    comeBack: () => listen(proxy.port),
  }
  t.teardown(async () => {
    if (server.listening) await proxy.goAway()
  })
  return proxy
}
