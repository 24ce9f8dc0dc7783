// A circuit breaker: the first failure opens it, a probe in the background closes it, so that an outage costs its timeout once.

export type Breaker = {
  /** Runs the work, or throws at once while open. A failure of the work opens it, but not one for which `excuse` answers true. */
  run<Result>(work: () => Promise<Result>, excuse?: (error: unknown) => boolean): Promise<Result>
  isOpen(): boolean
  stop(): void
}

const probeEveryMs = 1_000

/** `probe` resolves when the guarded thing works again; it is asked every second while the breaker is open. */
export function breaker(
  probe: () => Promise<unknown>,
  onChange: (open: boolean, reason?: unknown) => void,
): Breaker {
  let timer: NodeJS.Timeout | null = null
  let stopped = false

  function open(reason: unknown): void {
    if (timer || stopped) return
    timer = setTimeout(check, probeEveryMs).unref()
    onChange(true, reason)
  }

  async function check(): Promise<void> {
    try {
      await probe()
      timer = null
      if (!stopped) onChange(false)
    } catch {
      if (!stopped) timer = setTimeout(check, probeEveryMs).unref()
    }
  }

  return {
    async run(work, excuse = (_error: unknown) => false) {
      if (timer) throw new Error('the circuit breaker is open')
      try {
        return await work()
      } catch (error) {
        if (!excuse(error)) open(error)
        throw error
      }
    },
    isOpen: () => timer !== null,
    stop() {
      stopped = true
      if (timer) clearTimeout(timer)
    },
  }
}
