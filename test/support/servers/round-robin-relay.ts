// An HTTP balancer for tests: sends each request to the next of several servers.
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

export type RoundRobinRelay = { url: string; setServers(urls: string[]): void }

/** Starts a relay to the servers with these URLs on a free port. It stops when the test ends. */
export async function startRoundRobinRelay(
  t: { teardown(fn: () => unknown): void },
  urls: string[],
): Promise<RoundRobinRelay> {
  let servers = urls
  let count = 0
  const server = createServer((request, response) => {
    const target = servers[count++ % servers.length] ?? ''
    const { method = 'GET', url = '/', headers } = request
    const forwarded = httpRequest(new URL(url, target), { method, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers))
    })
    // A server may end first when the test ends.
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setServers: (next) => {
      servers = next
    },
  }
}
