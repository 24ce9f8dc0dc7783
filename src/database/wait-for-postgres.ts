// A start that waits for what it needs, with a limit.
import { setTimeout as sleep } from 'node:timers/promises'

export type Waiting = { timeoutMs: number; say(missing: string): void; signal?: AbortSignal }

const tryEveryMs = 500
const sayEveryMs = 5_000

/**
 * Asks `missing` until it gives null. Says what is missing when that changes and every five seconds; throws an error with it at the end of the
 * time. What `missing` throws is thrown at once: it will not mend by waiting.
 */
export async function waitUntilNothing(
  missing: () => Promise<string | null>,
  { timeoutMs, say, signal }: Waiting,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let said = { what: '', at: 0 }
  for (;;) {
    const what = await missing()
    if (what === null || signal?.aborted) return
    const now = performance.now()
    if (now >= deadline) throw new Error(`${what} (waited ${Math.round(timeoutMs / 1_000)} s)`)
    if (what !== said.what || now - said.at >= sayEveryMs) {
      say(what)
      said = { what, at: now }
    }
    await sleep(tryEveryMs)
  }
}
