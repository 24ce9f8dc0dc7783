// A circuit breaker for one search engine. An outage opens it at once, and so do two timeouts in a
// row: a single slow search affects nobody else. A successful background probe closes it.
import type { FailedOutcome } from './client.ts'

// After lost connections a new one works at once. Each further pause is twice as long.
const firstProbeMs = 100
// Searches use the engine again about a second after it has recovered.
const maxProbePauseMs = 1_000

type BreakerOptions = {
  /** Resolves if the engine answers searches. */
  probe(): Promise<unknown>
  /** Called each time the breaker opens, with the error, and each time it closes. */
  onChange(isOpen: boolean, error?: unknown): void
}

export class CircuitBreaker {
  readonly #options: BreakerOptions
  #isOpen = false
  #isStopped = false
  #hasTimedOut = false
  #probeTimer: NodeJS.Timeout | undefined

  /** Creates a closed breaker. Stop it with `stop()`. */
  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Records how a request ended. `error` is reported if the breaker opens. */
  record(outcome: FailedOutcome | 'answered', error?: unknown): void {
    const isSecondTimeout = outcome === 'timeout' && this.#hasTimedOut
    this.#hasTimedOut = outcome === 'timeout'
    if (this.#isOpen || this.#isStopped || (outcome !== 'outage' && !isSecondTimeout)) return
    this.#isOpen = true
    this.#scheduleProbe(firstProbeMs)
    this.#options.onChange(true, error)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#probeTimer)
  }

  #scheduleProbe(pauseMs: number): void {
    const probe = () =>
      this.#options.probe().then(
        () => this.#close(),
        // The error that opened the breaker is already logged.
        () => this.#scheduleProbe(Math.min(2 * pauseMs, maxProbePauseMs)),
      )
    if (!this.#isStopped) this.#probeTimer = setTimeout(() => void probe(), pauseMs).unref()
  }

  #close(): void {
    if (this.#isStopped) return
    this.#isOpen = false
    this.#hasTimedOut = false
    this.#options.onChange(false)
  }
}
