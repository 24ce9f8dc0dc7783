// Chooses ports for servers that a test starts later, or stops and starts again.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { choosePort } from '../../../scripts/servers/free-port.ts'

/**
 * Returns a free port that stays free until its server starts, and while that is down: it is below
 * the range from which the system takes the ports of outgoing connections, and no other test
 * chooses it while this process runs.
 */
export async function chooseFixedPort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
}

/**
 * Binds the UDP port of this number, which no server of the tests uses, until this process ends.
 * Returns false if another process has done so.
 */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  socket.bind({ port, address: '127.0.0.1', exclusive: true })
  try {
    await once(socket, 'listening')
  } catch {
    return false
  }
  socket.unref()
  return true
}

function isFree(port: number): Promise<boolean> {
  return choosePort('The test', port).then(
    () => true,
    () => false,
  )
}
