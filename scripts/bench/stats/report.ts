// The bars that the project has set for the statistics, and how figures are printed beside them.
import type { ColdTiming, Timing } from './measures.ts'

export const bars = {
  /** The p95 of the statistics without a cache at a million quotes, in ms. */
  coldP95Ms: { atMost: 25 },
  /** That p95 at ten million quotes, as a multiple of that at a million. */
  coldGrowth: { atMost: 1.5 },
  /** The processor time of PostgreSQL for one reading of the state of the summary, in ms. */
  pollMs: { atMost: 2 },
  /** The speed of writes with the triggers, as a share of that without. */
  writes: { atLeast: 0.8 },
}

/** Returns the bar and whether the value meets it: "(bar: at most 25 ms, met)". */
export function compareWithBar(
  value: number,
  bar: { atMost: number } | { atLeast: number },
  unit = '',
): string {
  const isMet = 'atMost' in bar ? value <= bar.atMost : value >= bar.atLeast
  const text = 'atMost' in bar ? `at most ${bar.atMost}` : `at least ${bar.atLeast}`
  return `(bar: ${text}${unit}, ${isMet ? 'met' : 'MISSED'})`
}

/** Returns the p95 with its bar, which is set for a million quotes. */
export function formatColdP95(p95Ms: number, quotes: number): string {
  const bar =
    quotes === 1_000_000
      ? compareWithBar(p95Ms, bars.coldP95Ms, ' ms')
      : `(bar at 1,000,000 quotes: at most ${bars.coldP95Ms.atMost} ms)`
  return `p95 ${formatMs(p95Ms)} ${bar}`
}

export function formatByQuestion({ byQuestion }: ColdTiming): string {
  const medians = Object.entries(byQuestion).map(([name, ms]) => `${name} ${formatMs(ms)}`)
  return `medians: ${medians.join(', ')}`
}

/** Returns the times of a reading of the data version with the bar. */
export function formatPoll(poll: Timing): string {
  return (
    `${formatMs(poll.processorMs)} of PostgreSQL processor time ` +
    `${compareWithBar(poll.processorMs, bars.pollMs, ' ms')}, elapsed median ` +
    `${formatMs(poll.medianMs)}`
  )
}

export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) return 'cancelled'
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(1)} ms`
}

/** Returns a ratio as "1.36 ×". */
export function formatMultiple(value: number, other: number): string {
  const multiple = value / other
  return `${multiple.toFixed(multiple < 10 ? 2 : 0)} ×`
}

/** Returns how many times as long it takes as before, or the time before if it was cancelled. */
export function compareWithBefore(ms: number, beforeMs: number): string {
  return Number.isFinite(ms)
    ? `${formatMultiple(ms, beforeMs)} before`
    : `before ${formatMs(beforeMs)}`
}

/** Prints rows under a heading, as columns of equal width. Each row is printed at once. */
export class Table {
  readonly #widths: number[]

  constructor(header: string[]) {
    this.#widths = header.map((cell, n) => Math.max(cell.length, n === 0 ? 26 : 10))
    this.print(header)
  }

  print(cells: string[]): void {
    const padded = cells.map((cell, n) => {
      const width = this.#widths[n] ?? 0
      return n === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    console.log(`  ${padded.join('  ').trimEnd()}`)
  }
}
