// A server that sends given bodies, each after a time. It shows what opening them costs the machine
// and the client, without rendering.
import { createServer } from 'node:http'

/** A body and when it is sent, in milliseconds after its request. */
export type PacedBody = { body: Uint8Array; delayMs: number }

process.once('message', (bodies: PacedBody[]) => {
  const server = createServer((request, response) => {
    const { body = '', delayMs = 0 } = bodies[Number(request.url?.slice(1))] ?? {}
    setTimeout(() => response.end(body), delayMs)
  })
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
})
process.once('disconnect', () => process.exit())
