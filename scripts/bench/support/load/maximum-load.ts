// Measures the maximum load on one URL with autocannon, and the processor time of the server.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { processorMicroseconds } from '../processes/cpu-time.ts'

export type Load = { perSecond: number; p99Ms: number; failed: number; cpuMicroseconds: number }
export type LoadOptions = {
  url: string
  headers: Record<string, string>
  seconds: number
  connections: number
  pid: number
}

const autocannon = join(import.meta.dirname, '../../../../node_modules/.bin/autocannon')

/**
 * Sends requests for `seconds` on keep-alive connections. `cpuMicroseconds` is the processor time
 * of the server for each request, or 0 except on Linux.
 */
export async function measureMaximumLoad(options: LoadOptions): Promise<Load> {
  const before = processorMicroseconds(options.pid)
  const { requests, ...measured } = await runAutocannon(options)
  return {
    ...measured,
    cpuMicroseconds: requests === 0 ? 0 : (processorMicroseconds(options.pid) - before) / requests,
  }
}

async function runAutocannon({ url, headers, seconds, connections }: LoadOptions) {
  const args = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const output = await run(process.execPath, [
    autocannon,
    '-j',
    '-n',
    '-c',
    String(connections),
    '-d',
    String(seconds),
    ...args,
    url,
  ])
  const result = JSON.parse(output) as {
    requests: { total: number; average: number }
    latency: { p99: number }
    non2xx: number
    '3xx': number
  }
  const { requests, latency } = result
  return {
    requests: requests.total,
    perSecond: requests.average,
    p99Ms: latency.p99,
    failed: result.non2xx - result['3xx'],
  }
}

function run(program: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}
