// Chooses a port on loopback: a requested one if it is free, or any free one.
import { createServer } from 'node:net'

/** Another process listens on the port. */
export class PortInUse extends Error {
  constructor(name: string, port: number) {
    super(
      `${name}: port ${port} on 127.0.0.1 is in use. ` +
        'Stop the process that listens there, or choose another port.',
    )
  }
}

/** Returns `port`, or any free port if it is 0. Throws PortInUse if something listens there. */
export function choosePort(name: string, port = 0): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortInUse(name, port) : error),
    )
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : port),
      )
    })
  })
}
