// Repeats a measurement of a duration, because a busy machine may stop for seconds.
import { eventually } from './eventually.ts'

/**
 * Measures until a duration is below the limit or `repeatMs` have passed. Returns the last duration
 * in milliseconds. Prints all of them if one was too long: what is slow only sometimes passes too.
 */
export async function measureUntilBelow(
  limitMs: number,
  measure: () => Promise<number>,
  repeatMs: number,
): Promise<number> {
  const durationsMs: number[] = []
  const measureNext = async () => {
    const ms = await measure()
    durationsMs.push(ms)
    return ms
  }
  const lastMs = await eventually(measureNext, (ms) => ms < limitMs, repeatMs)
  if (durationsMs.length > 1)
    console.error(`Measured until it took less than ${limitMs} ms: ${durationsMs.join(', ')} ms.`)
  return lastMs
}
