// Requests at a rate, by wrk: the cheapest client there is, so that what is measured is the service and not the load.
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export type Flood = { stop(): Promise<void> }
export type FloodOptions = {
  url: string
  /** With a path a line. */
  pathsFile: string
  authorization: string
  connections: number
  /** Requests a second, however they are answered; as many as are answered when left out. */
  rate?: number
}

/** What a connection waits for its answer on average, where most are refused. It need not be exact: the rate is measured. */
const answerMs = 8

/** Starts sending, until it is stopped. */
export function flood({ url, pathsFile, authorization, connections, rate }: FloodOptions): Flood {
  const pauseMs =
    rate === undefined ? 0 : Math.max(0, Math.round((1_000 * connections) / rate - answerMs))
  const words = [
    '-t1',
    `-c${connections}`,
    '-d1h',
    '-s',
    join(import.meta.dirname, 'constant-rate-load.lua'),
    '-H',
    `authorization: ${authorization}`,
  ]
  const child = spawn('wrk', [...words, url, '--', pathsFile, String(pauseMs)], { stdio: 'ignore' })
  const exit = new Promise((resolve) => child.once('close', resolve))
  return {
    async stop() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
