// Writes single quotes while an old snapshot is open and an API process folds. PostgreSQL then
// keeps every row version that folding deletes or replaces.
import { setTimeout } from 'node:timers/promises'
import { BackgroundFolding } from './background-folding.ts'
import type { BenchDatabase } from './databases.ts'
import { connectClient, QuoteWriter, type Target } from './quote-writer.ts'

type Options = {
  writes: number
  target: Target
  /** Writes per second, or Infinity. */
  pace: number
  /** In how many steps the writes are made. */
  steps: number
  /** Called after each step, while the snapshot is open. It may pause the folding. */
  onStep: (done: number, folding: BackgroundFolding) => Promise<void>
}

/** Returns the duration of the writes alone in ms, and how many batches could not be folded. */
export async function writeBesideSnapshot(
  { url }: BenchDatabase,
  { writes, target, pace, steps, onStep }: Options,
): Promise<{ writeMs: number; failedFolds: number }> {
  const writer = await QuoteWriter.connect(url, target, writes)
  const snapshot = await openSnapshot(url)
  const folding = new BackgroundFolding(url)
  let writeMs = 0
  try {
    let done = 0
    for (let step = 1; step <= steps; step += 1) {
      folding.start()
      const startedAt = performance.now()
      const doneBefore = done
      for (; done < Math.round((writes * step) / steps); done += 1) {
        const aheadMs = startedAt + ((done - doneBefore) * 1_000) / pace - performance.now()
        if (aheadMs > 0) await setTimeout(aheadMs)
        const writeStartedAt = performance.now()
        await writer.writeAny()
        writeMs += performance.now() - writeStartedAt
      }
      await onStep(done, folding)
      await folding.pause()
    }
  } finally {
    await Promise.all([writer.close(), snapshot.close(), folding.close()])
  }
  return { writeMs, failedFolds: folding.failures }
}

/** Opens a snapshot like pg_dump: reads every table, and locks all of them against changes. */
async function openSnapshot(url: string): Promise<{ close(): Promise<void> }> {
  const client = await connectClient(url)
  await client.query('begin isolation level repeatable read read only')
  const { rows } = await client.query<{ name: string }>(`
    select quote_ident(relname) as name from pg_class
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
  `)
  const names = rows.map(({ name }) => name)
  await client.query(`lock table ${names.join(', ')} in access share mode`)
  for (const name of names) await client.query(`select from ${name} limit 1`)
  return { close: () => client.end() }
}
