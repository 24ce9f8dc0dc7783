// A circuit breaker for one search engine. An outage opens it at once. Timeouts open it only if
// most of the recent requests timed out, so that single slow searches affect nobody else. A
// successful background probe closes it.
import { timeouts } from '../timeouts.ts'
import { classifyFailure, type RequestOutcome } from './request-outcome.ts'
import { TimeoutShare } from './timeout-share.ts'

type BreakerOptions = {
  /** Resolves if the engine answers searches. */
  probe(): Promise<unknown>
  /** Called each time the breaker opens, with the error, and each time it closes. */
  onChange(isOpen: boolean, error?: unknown): void
}

export class CircuitBreaker {
  readonly #options: BreakerOptions
  readonly #timeoutShare = new TimeoutShare(timeouts.searchEngine.timeoutShare.ms)
  #isOpen = false
  #isStopped = false
  #isTestingSlowEngine = false
  #probeTimer: NodeJS.Timeout | undefined
  #probePauseMs: number = timeouts.searchEngine.firstProbe.ms

  /** Creates a closed breaker. Stop it with `stop()`. */
  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Records how a request ended. `error` is reported if the breaker opens. */
  record(outcome: RequestOutcome, error?: unknown): void {
    if (outcome === 'outage') {
      this.#open(error)
      return
    }
    this.#timeoutShare.record(outcome === 'timeout')
    if (outcome !== 'timeout') return
    if (this.#timeoutShare.isMajority()) this.#open(error)
    else void this.#testSlowEngine()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#probeTimer)
  }

  /**
   * Probes the engine after a timeout, so that the share of timeouts is known even if there are few
   * searches.
   */
  async #testSlowEngine(): Promise<void> {
    if (this.#isTestingSlowEngine || this.#isOpen || this.#isStopped) return
    this.#isTestingSlowEngine = true
    const outcome: { kind: RequestOutcome; error?: unknown } = await this.#options.probe().then(
      () => ({ kind: 'answered' }),
      (error: unknown) => ({ kind: classifyFailure(error), error }),
    )
    this.#isTestingSlowEngine = false
    this.record(outcome.kind, outcome.error)
  }

  #open(error: unknown): void {
    if (this.#isOpen || this.#isStopped) return
    this.#isOpen = true
    this.#probePauseMs = timeouts.searchEngine.firstProbe.ms
    this.#scheduleProbe()
    this.#options.onChange(true, error)
  }

  #scheduleProbe(): void {
    this.#probeTimer = setTimeout(() => void this.#runProbe(), this.#probePauseMs).unref()
    this.#probePauseMs = Math.min(2 * this.#probePauseMs, timeouts.searchEngine.probeInterval.ms)
  }

  async #runProbe(): Promise<void> {
    try {
      await this.#options.probe()
    } catch {
      // The error that opened the breaker is already logged; the probe only decides when to close.
      if (!this.#isStopped) this.#scheduleProbe()
      return
    }
    if (this.#isStopped) return
    this.#isOpen = false
    this.#timeoutShare.forget()
    this.#options.onChange(false)
  }
}
