// A wire to a server that a test can slow down, cut, stop and mend: how outages of PostgreSQL, Redis and the engine are made.
import { connect, createServer, type Socket } from 'node:net'

export type Wire = {
  /** The server's URL, by way of the wire. */
  url: string
  /** Holds every answer of the server back by this long. */
  delayMs: number
  /** Everything that was sent to the server. */
  sent(): string
  /** How many connections the client broke while an answer was held back. */
  brokenByClient(): number
  /** How many connections were refused while it was cut. */
  refused(): number
  /** Ends every connection and refuses new ones. */
  cut(): void
  /** Keeps connections open, and lets nothing through. */
  hang(): void
  mend(): void
}

/** A wire to the server of `url`; gone when the test ends. */
export async function wireTo(t: { teardown(fn: () => unknown): void }, url: string): Promise<Wire> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const sent: Buffer[] = []
  let broken = 0
  let refused = 0
  let state: 'up' | 'cut' | 'hanging' = 'up'

  const server = createServer((near) => {
    if (state === 'cut') {
      refused++
      return void near.destroy()
    }
    const far = connect({ host: target.hostname, port: Number(target.port) })
    let heldBack = 0
    near.on('data', (chunk) => {
      sent.push(chunk)
      if (wire.delayMs > 0) heldBack++
      if (state === 'up') far.write(chunk)
    })
    far.on('data', (chunk) => {
      if (state !== 'up') return
      if (wire.delayMs === 0) return void near.write(chunk)
      setTimeout(() => {
        heldBack = 0
        if (!near.destroyed) near.write(chunk)
      }, wire.delayMs)
    })
    near.on('close', () => {
      if (heldBack > 0 && state === 'up' && !far.destroyed) broken++
    })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    end()
    server.close()
  })
  const near = new URL(url)
  near.hostname = '127.0.0.1'
  near.port = String((server.address() as { port: number }).port)
  const wire: Wire = {
    url: near.href,
    delayMs: 0,
    sent: () => Buffer.concat(sent).toString(),
    brokenByClient: () => broken,
    refused: () => refused,
    cut() {
      state = 'cut'
      end()
    },
    hang() {
      state = 'hanging'
    },
    mend() {
      // What was lost on the way is lost: whoever waits for it must start anew.
      if (state === 'hanging') end()
      state = 'up'
    },
  }
  return wire
}
