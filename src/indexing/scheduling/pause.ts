// Waits in a way that a signal can end early.
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until the time has passed or the signal is aborted. Check the signal afterwards.
 *
 * Use this instead of `sleep` with a signal. That rejects with an AbortError, not with the reason
 * of the signal. The indexer would count a stop as an error, log it, and keep its lease.
 */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Only the signal makes `sleep` reject.
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
