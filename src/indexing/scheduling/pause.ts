// Waits in a way that a signal can end early.
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until the time has passed or the signal is aborted. Check the signal afterwards. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Only the signal makes `sleep` reject.
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
