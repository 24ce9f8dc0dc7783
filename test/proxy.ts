// A wire to a server that a test can cut, stop and mend: how outages of PostgreSQL and Redis are made.
import { connect, createServer, type Socket } from 'node:net'

export type Wire = {
  /** The server's URL, by way of the wire. */
  url: string
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
  let state: 'up' | 'cut' | 'hanging' = 'up'

  const server = createServer((near) => {
    if (state === 'cut') return void near.destroy()
    const far = connect({ host: target.hostname, port: Number(target.port) })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => state === 'up' && to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
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
  return {
    url: near.href,
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
}
