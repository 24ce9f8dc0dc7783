// Work that the indexer does once in each interval.

/** `takeIfDue` returns whether the work is due. If it is, the next interval begins. */
export type IntervalTask = { takeIfDue(): boolean; work(): Promise<unknown> }

/** Does the work of every task that is due, in order. */
export async function runDueTasks(tasks: IntervalTask[]): Promise<void> {
  for (const { takeIfDue, work } of tasks) if (takeIfDue()) await work()
}

/**
 * Does the work of the first task that is due, and returns whether there is one. At most one, so
 * that changes do not wait for several.
 */
export async function runFirstDueTask(tasks: IntervalTask[]): Promise<boolean> {
  const task = tasks.find(({ takeIfDue }) => takeIfDue())
  await task?.work()
  return task !== undefined
}

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
