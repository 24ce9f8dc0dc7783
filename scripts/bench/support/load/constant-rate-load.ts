// Sends requests at a constant rate with wrk, the cheapest client, so that the client is not the
// bottleneck.
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export type ConstantLoad = { stop(): Promise<void> }
export type ConstantLoadOptions = {
  url: string
  /** A file with one path per line. */
  pathsFile: string
  authorization: string
  connections: number
  /** Requests a second, whatever the responses. Default: as many as are answered. */
  rate?: number
}

/**
 * The estimated mean response time when most requests are rejected. The actual rate is measured.
 */
const responseMs = 8

/** Sends requests until it is stopped. */
export function startLoad({
  url,
  pathsFile,
  authorization,
  connections,
  rate,
}: ConstantLoadOptions): ConstantLoad {
  const pauseMs =
    rate === undefined ? 0 : Math.max(0, Math.round((1_000 * connections) / rate - responseMs))
  const args = [
    '-t1',
    `-c${connections}`,
    '-d1h',
    '-s',
    join(import.meta.dirname, 'constant-rate-load.lua'),
    '-H',
    `authorization: ${authorization}`,
  ]
  const child = spawn('wrk', [...args, url, '--', pathsFile, String(pauseMs)], { stdio: 'ignore' })
  const exit = new Promise((resolve) => child.once('close', resolve))
  return {
    async stop() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
