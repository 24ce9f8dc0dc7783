// Tests in which no window of the clock, such as a minute or a day, may end.
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

/** Stops `Date` in this process until the test ends. Timers and performance.now() go on. */
export function freezeDate(t: { teardown(fn: () => unknown): void }): void {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
}

/** No date changes within an hour, whatever the time zone of the company is. */
export const hourMs = 3_600_000
/** A day in UTC. */
export const dayMs = 24 * hourMs

/**
 * Waits until at least `neededMs` of the current window are left, for tests of several processes.
 * So no new window starts in a test that needs no longer, not even if it runs at midnight or at the
 * end of a month.
 */
export async function waitForFreshWindow(windowMs: number, neededMs: number): Promise<void> {
  const remainingMs = windowMs - (Date.now() % windowMs)
  if (remainingMs < neededMs) await sleep(remainingMs)
}
