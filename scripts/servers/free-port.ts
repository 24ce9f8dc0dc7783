// A port on loopback for a server: the one asked for, or any free one.
import { createServer } from 'node:net'

/** The port belongs to somebody else. */
export class PortInUse extends Error {
  constructor(name: string, port: number) {
    super(
      `${name}: port ${port} on 127.0.0.1 is in use. Stop what listens there, or choose another port.`,
    )
  }
}

/** Answers `port`, or a free one when there is none given. Throws PortInUse when something listens there. */
export function choosePort(name: string, port = 0): Promise<number> {
  const trial = createServer()
  return new Promise((resolve, reject) => {
    trial.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortInUse(name, port) : error),
    )
    trial.listen(port, '127.0.0.1', () => {
      const address = trial.address()
      trial.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : port),
      )
    })
  })
}
