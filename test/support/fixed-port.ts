// Chooses ports for servers that a test starts later, or stops and starts again.
import { choosePort } from '../../scripts/servers/free-port.ts'

/**
 * Returns a free port that stays free until its server starts, and while that is down: it is below
 * the range from which the system takes the ports of outgoing connections.
 */
export async function chooseFixedPort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000)
    const isFree = await choosePort('The test', port).then(
      () => true,
      () => false,
    )
    if (isFree) return port
  }
}
