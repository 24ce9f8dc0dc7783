// A circuit breaker for one search engine. An outage opens it at once. Timeouts open it only if
// most of the recent requests timed out, so that single slow searches affect nobody else. A
// successful background probe closes it.
import { classifyFailure, type RequestOutcome } from './request-outcome.ts'

// After lost connections a new one works at once. Each further pause is twice as long.
const firstProbeMs = 100
// Searches use the engine again about a second after it has recovered.
const maxProbePauseMs = 1_000
// Long enough for a share at few searches, short enough to notice a slow engine.
const timeoutShareMs = 5_000

/** A single timeout says nothing about the engine. */
const minTimeouts = 2
/** The measured period is divided into this many parts. Counts of older parts are dropped. */
const periodParts = 5

type BreakerOptions = {
  /** Resolves if the engine answers searches. */
  probe(): Promise<unknown>
  /** Called each time the breaker opens, with the error, and each time it closes. */
  onChange(isOpen: boolean, error?: unknown): void
}

export class CircuitBreaker {
  readonly #options: BreakerOptions
  readonly #timeoutShare = new TimeoutShare()
  #isOpen = false
  #isStopped = false
  #isTestingSlowEngine = false
  #probeTimer: NodeJS.Timeout | undefined
  #probePauseMs: number = firstProbeMs

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
    const probe: { outcome: RequestOutcome; error?: unknown } = await this.#options.probe().then(
      () => ({ outcome: 'answered' }),
      (error: unknown) => ({ outcome: classifyFailure(error), error }),
    )
    this.#isTestingSlowEngine = false
    this.record(probe.outcome, probe.error)
  }

  #open(error: unknown): void {
    if (this.#isOpen || this.#isStopped) return
    this.#isOpen = true
    this.#probePauseMs = firstProbeMs
    this.#scheduleProbe()
    this.#options.onChange(true, error)
  }

  #scheduleProbe(): void {
    this.#probeTimer = setTimeout(() => void this.#runProbe(), this.#probePauseMs).unref()
    this.#probePauseMs = Math.min(2 * this.#probePauseMs, maxProbePauseMs)
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

type Counts = { part: number; requests: number; timedOut: number }

/** Measures the share of the requests of a recent period that timed out. */
class TimeoutShare {
  readonly #partMs = timeoutShareMs / periodParts
  #counts: Counts[] = []

  record(isTimeout: boolean): void {
    const part = Math.floor(performance.now() / this.#partMs)
    let counts = this.#counts.at(-1)
    if (counts?.part !== part) {
      counts = { part, requests: 0, timedOut: 0 }
      this.#counts = [...this.#counts.filter((older) => older.part > part - periodParts), counts]
    }
    counts.requests += 1
    if (isTimeout) counts.timedOut += 1
  }

  /** Whether at least two requests, and more than half of all, timed out in the period. */
  isMajority(): boolean {
    const oldest = Math.floor(performance.now() / this.#partMs) - periodParts
    let requests = 0
    let timedOut = 0
    for (const counts of this.#counts) {
      if (counts.part <= oldest) continue
      requests += counts.requests
      timedOut += counts.timedOut
    }
    return timedOut >= minTimeouts && 2 * timedOut > requests
  }

  forget(): void {
    this.#counts = []
  }
}
