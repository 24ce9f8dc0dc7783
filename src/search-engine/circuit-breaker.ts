// A circuit breaker: the first failure opens it, so that an outage costs one timeout, and a
// successful background probe closes it.
import { timeouts } from '../timeouts.ts'

export type CircuitBreaker = {
  /**
   * Runs the work, or throws at once while the breaker is open. If the work throws, the breaker
   * opens, unless `isUnrelated` returns true for the error.
   */
  run<Result>(
    work: () => Promise<Result>,
    isUnrelated?: (error: unknown) => boolean,
  ): Promise<Result>
  isOpen(): boolean
  stop(): void
}

/**
 * Creates a closed breaker. While it is open it calls `probe` every second until `probe` resolves.
 * `onChange` is called each time the breaker opens, with the error, and each time it closes.
 */
export function createCircuitBreaker(
  probe: () => Promise<unknown>,
  onChange: (isOpen: boolean, error?: unknown) => void,
): CircuitBreaker {
  let probeTimer: NodeJS.Timeout | null = null
  let isStopped = false

  function scheduleProbe(): void {
    probeTimer = setTimeout(runProbe, timeouts.searchEngine.probeInterval.ms).unref()
  }

  function open(error: unknown): void {
    if (probeTimer || isStopped) return
    scheduleProbe()
    onChange(true, error)
  }

  async function runProbe(): Promise<void> {
    try {
      await probe()
      probeTimer = null
      if (!isStopped) onChange(false)
    } catch {
      // The error that opened the breaker is already logged; the probe only decides when to close.
      if (!isStopped) scheduleProbe()
    }
  }

  return {
    async run(work, isUnrelated = () => false) {
      if (probeTimer) throw new Error('the circuit breaker is open')
      try {
        return await work()
      } catch (error) {
        if (!isUnrelated(error)) open(error)
        throw error
      }
    },
    isOpen: () => probeTimer !== null,
    stop() {
      isStopped = true
      if (probeTimer) clearTimeout(probeTimer)
    },
  }
}
