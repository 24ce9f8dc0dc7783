// Limits the processor time of a rendering. Elapsed time would also count the time in which a busy
// machine did not run the rendering, so legitimate quotes would fail there.
import { readFileSync } from 'node:fs'
import { timeouts } from '../../timeouts.ts'
import { QuoteFailure } from '../failures.ts'
import type { RenderingProcessLimits } from './rendering-limits.ts'

/**
 * Watches a rendering that begins now in this process. `what` names it in messages, such as "PDF".
 * `exceeded` rejects when a limit is exceeded, and stays pending otherwise.
 * Above `maxElapsedMs` rejects with the reason `starved`, because the rendering is not the cause.
 */
export function watchTimeLimits(
  pid: number | undefined,
  what: string,
  { maxProcessorMs, maxElapsedMs }: RenderingProcessLimits,
): { exceeded: Promise<never>; stop(): void } {
  const { promise, reject } = Promise.withResolvers<never>()
  const startedAt = performance.now()
  // Read at the first check, because most renderings are ready before it. The time before the first
  // check is not counted.
  let processorMsBefore: number | null = null
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedAt
    const processorMsNow = readProcessorMs(pid)
    processorMsBefore ??= processorMsNow
    const processorMs =
      processorMsNow === null || processorMsBefore === null
        ? null
        : processorMsNow - processorMsBefore
    const kind = processorMs === null ? 'elapsed time' : 'processor time'
    if ((processorMs ?? elapsedMs) > maxProcessorMs)
      reject(new Error(`The ${what} took more than ${maxProcessorMs} ms of ${kind}.`))
    else if (elapsedMs > maxElapsedMs)
      reject(
        new QuoteFailure(
          'starved',
          `The ${what} process hardly ran: in ${maxElapsedMs} ms it had ${processorMs} ms of ` +
            'processor time.',
        ),
      )
  }, timeouts.quotes.renderingCheck.ms)
  return { exceeded: promise, stop: () => clearInterval(timer) }
}

/** Linux counts in hundredths of a second, on every architecture that Node supports. */
const msPerTick = 10

/**
 * Returns the processor time of all threads of a process. Returns null if it cannot be read: the
 * process has ended, or the system is not Linux. Then elapsed time counts instead.
 */
function readProcessorMs(pid: number | undefined): number | null {
  try {
    // The name of the program stands in brackets and may contain anything. utime and stime are the
    // 12th and 13th field after it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * msPerTick
  } catch {
    return null
  }
}
