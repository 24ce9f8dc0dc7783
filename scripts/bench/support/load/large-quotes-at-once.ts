// Measures how long other requests take while ten large quotes are opened at once. Two comparisons
// show how much of it the client and the machine cause.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { renderingNiceIncrement } from '../../../../src/quotes/rendering/rendering-process.ts'
import type { PacedBody } from './paced-bodies-server.ts'
import { quantile } from './quantile.ts'

const warmUpMs = 4_000
const betweenMs = 1_500

type Measurement = {
  /** The request that is measured. */
  smallUrl: string
  /** Each burst opens these at once. No burst may be cached: this is the first time. */
  bursts: readonly string[][]
}

/** An opened link: its statuses, its body, and when that had arrived, in ms after the request. */
type Opened = { statuses: number[]; body: Buffer; ms: number }

export type LargeQuotesResult = {
  /** Between the bursts, so that both are measured in the same seconds. */
  between: number[]
  during: number[]
  /** While a server without our code sends the same bodies to the same client at the same times. */
  besideBodies: number[]
  besideBusyProcess: number[]
  burstMs: number[]
  statuses: Record<number, number>
}

/** Returns the latencies of sequential requests, in milliseconds. */
export async function measureLargeQuotes({
  smallUrl,
  bursts,
}: Measurement): Promise<LargeQuotesResult> {
  // The first requests are slower and count nowhere.
  await probeWhile(smallUrl, sleep(warmUpMs))
  const between: number[] = []
  const during: number[] = []
  const burstMs: number[] = []
  const statuses: Record<number, number> = {}
  const besideBodies: number[] = []
  for (const urls of bursts) {
    between.push(...(await probeWhile(smallUrl, sleep(betweenMs))))
    const began = performance.now()
    const opening = Promise.all(urls.map(openUntilShown))
    during.push(...(await probeWhile(smallUrl, opening)))
    burstMs.push(performance.now() - began)
    const opened = await opening
    for (const status of opened.flatMap(({ statuses }) => statuses))
      statuses[status] = (statuses[status] ?? 0) + 1
    await sleep(200)
    besideBodies.push(...(await probeBesideBodies(smallUrl, opened)))
    await sleep(200)
  }
  const totalMs = burstMs.reduce((sum, ms) => sum + ms, 0)
  const besideBusyProcess = await probeWhile(smallUrl, runBusyProcess(totalMs))
  return { between, during, besideBodies, besideBusyProcess, burstMs, statuses }
}

/** Returns the lines that say what was measured. */
export function describeLargeQuotes(format: string, result: LargeQuotesResult): string {
  const { between, during, besideBodies, besideBusyProcess, burstMs, statuses } = result
  const p95 = (times: number[]) => quantile(times, 0.95)
  const times = (list: number[], reference = between) => (p95(list) / p95(reference)).toFixed(2)
  const describe = (list: number[]) =>
    `p95 ${p95(list).toFixed(1)} ms, slowest ${Math.max(...list).toFixed(1)} ms ` +
    `(${list.length} requests)`
  const answers = Object.entries(statuses).map(([status, count]) => `${count} times ${status}`)
  return [
    `Ten quotes of 2,000 lines at once as ${format}, ${burstMs.length} times: ` +
      `${quantile(burstMs, 0.5).toFixed(0)} ms, ${answers.join(', ')}`,
    `  other requests between the bursts: ${describe(between)}`,
    `  meanwhile: ${describe(during)}: ${times(during)} times`,
    `  with the same bodies from a plain server: ${describe(besideBodies)}: ` +
      `${times(besideBodies)} times; meanwhile is ${times(during, besideBodies)} times this`,
    `  beside one busy process: ${describe(besideBusyProcess)}: ${times(besideBusyProcess)} times`,
  ].join('\n')
}

/** Opens the same bodies on a server without our code, which sends them at the same times. */
async function probeBesideBodies(smallUrl: string, opened: Opened[]): Promise<number[]> {
  const server = fork(new URL('paced-bodies-server.ts', import.meta.url), {
    serialization: 'advanced',
  })
  const listening = once(server, 'message') as Promise<[AddressInfo]>
  server.send(opened.map(({ body, ms }): PacedBody => ({ body, delayMs: ms })))
  const [{ port }] = await listening
  const urls = opened.map((_, index) => `http://127.0.0.1:${port}/${index}`)
  const times = await probeWhile(smallUrl, Promise.all(urls.map(openCompressed)))
  server.disconnect()
  return times
}

/** Keeps one core busy at the priority of renderings. */
async function runBusyProcess(ms: number): Promise<void> {
  const script = `const end = Date.now() + ${Math.round(ms)}; while (Date.now() < end);`
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' })
  if (child.pid !== undefined) setPriority(child.pid, renderingNiceIncrement)
  await once(child, 'exit')
}

/** Opens a link as a browser does, which loads a page again that says so. */
async function openUntilShown(url: string): Promise<Opened> {
  const statuses: number[] = []
  const began = performance.now()
  for (;;) {
    const { status, retryAfterSeconds, body } = await openCompressed(url)
    statuses.push(status)
    if (status !== 503) return { statuses, body, ms: performance.now() - began }
    await sleep(retryAfterSeconds * 1_000)
  }
}

/** Does not decompress the body, which would delay the measured requests. */
function openCompressed(
  url: string,
): Promise<{ status: number; retryAfterSeconds: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { 'accept-encoding': 'br' } }, (response) => {
      const status = response.statusCode ?? 0
      const retryAfterSeconds = Number(response.headers['retry-after'] ?? 1)
      const chunks: Buffer[] = []
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .once('end', () => resolve({ status, retryAfterSeconds, body: Buffer.concat(chunks) }))
    }).once('error', reject)
  })
}

/** Returns the latencies of sequential requests, 5 ms apart, until `work` has ended. */
export async function probeWhile(url: string, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  let isDone = false
  void work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    times.push(await measureMs(url))
    await sleep(5)
  }
  return times
}

/** Returns how long a request and its response take, in milliseconds. */
export async function measureMs(url: string): Promise<number> {
  const began = performance.now()
  const response = await fetch(url)
  await response.arrayBuffer()
  return performance.now() - began
}
