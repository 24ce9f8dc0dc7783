// Work that the indexer does once in each interval.

/** `takeIfDue` returns whether the work is due. If it is, the next interval begins. */
export type IntervalTask = { takeIfDue(): boolean; work(): Promise<unknown> }

/**
 * Returns a `takeIfDue`. Its first call returns true, unless `isDueAtOnce` is false: then the first
 * interval begins now.
 */
export function createDueCheck(intervalMs: number, { isDueAtOnce = true } = {}): () => boolean {
  let dueAt = isDueAtOnce ? Number.NEGATIVE_INFINITY : performance.now() + intervalMs
  return () => {
    const isDue = performance.now() >= dueAt
    if (isDue) dueAt = performance.now() + intervalMs
    return isDue
  }
}
