// Sends requests that no HTTP client would send.
import { connect } from 'node:net'

/** Sends bytes and returns all bytes received until the connection is closed. */
export function sendBytes(
  url: string,
  text: string,
  { closeAfterwards = false } = {},
): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () =>
      closeAfterwards ? socket.end(text) : socket.write(text),
    )
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? undefined : reject(error),
    )
  })
}
