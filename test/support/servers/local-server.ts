// Starts HTTP servers of tests.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts a server on a free port of this machine and returns its URL. It ends with the test. */
export async function startLocalServer(
  t: { teardown(fn: () => unknown): void },
  answer: RequestListener,
): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
