// The keep-alive connections to one search engine. A timeout replaces all of them, because a
// firewall or load balancer may have dropped them silently.
import { type Dispatcher, Pool } from 'undici'
import { timeouts } from '../timeouts.ts'
import { EngineTimeout } from './request-outcome.ts'

export type EngineResponse = { status: number; body: string }

const maxConnections = 128

/** Errors of a connection that the engine closed before it had answered. */
const closedCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

export class EngineConnections {
  readonly #origin: string
  readonly #headers: Record<string, string>
  #pool: Pool
  #openedAt = performance.now()

  /**
   * Opens at most 128 connections to the server of `url`, when they are needed; further requests
   * queue. `headers` are sent with every request. Close them with `close()`.
   */
  constructor(url: URL, headers: Record<string, string>) {
    this.#origin = url.origin
    this.#headers = headers
    this.#pool = openPool(this.#origin)
  }

  /**
   * Sends a request and returns the response. Rejects with a connection error, or with the reason
   * of `signal` when it aborts. An abort also closes the connection, so that the engine can stop
   * working. An abort with an `EngineTimeout` replaces all connections. If the engine closed the
   * connection while it was idle, sends the request once more, which is safe because searches have
   * no side effects.
   */
  async send(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<EngineResponse> {
    const startedAt = performance.now()
    try {
      return await this.#sendOnce(method, path, body, signal)
    } catch (error) {
      if (error instanceof EngineTimeout) this.#replaceAll(startedAt)
      if (signal.aborted || !isClosedConnection(error)) throw error
      return this.#sendOnce(method, path, body, signal)
    }
  }

  /** Closes all connections. Running requests fail. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  /**
   * If a load balancer or host has dropped connections silently, every request on one of them would
   * time out, even while requests on newer connections succeed. Running requests continue. A slow
   * engine gets new connections at most once per timeout, because requests that were sent before
   * the last replacement replace nothing.
   */
  #replaceAll(sentAt: number): void {
    if (sentAt < this.#openedAt) return
    const old = this.#pool
    this.#pool = openPool(this.#origin)
    this.#openedAt = performance.now()
    // It waits for the running requests, which end at their own timeouts.
    void old.close()
  }

  #sendOnce(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<EngineResponse> {
    const headers =
      body === null ? this.#headers : { ...this.#headers, 'content-type': 'application/json' }
    const pool = this.#pool
    return new Promise((resolve, reject) => {
      const reader = new ResponseReader(signal, reject, resolve)
      pool.dispatch({ method, path, body, headers }, reader)
    })
  }
}

/**
 * Collects one response, in place of the `request` function of undici. That costs 5 to 20 µs more,
 * because it makes a stream of each body (docs/decisions/0022).
 */
class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #reject: (error: unknown) => void
  readonly #resolve: (response: EngineResponse) => void
  readonly #chunks: Buffer[] = []
  #controller: Dispatcher.DispatchController | undefined
  #status = 0

  constructor(
    signal: AbortSignal,
    reject: (error: unknown) => void,
    resolve: (response: EngineResponse) => void,
  ) {
    this.#signal = signal
    this.#reject = reject
    this.#resolve = resolve
    if (signal.aborted) this.#abort()
    else signal.addEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) this.#abort()
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#signal.removeEventListener('abort', this.#abort)
    const [first] = this.#chunks
    const bytes = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks)
    this.#resolve({ status: this.#status, body: bytes.toString() })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#reject(this.#signal.aborted ? this.#signal.reason : error)
  }

  /** Also rejects a request that waits for a connection. It is dropped when it gets one. */
  readonly #abort = (): void => {
    this.#reject(this.#signal.reason)
    this.#controller?.abort(this.#signal.reason)
  }
}

function openPool(origin: string): Pool {
  return new Pool(origin, {
    connections: maxConnections,
    connectTimeout: timeouts.searchEngine.connect.ms,
    keepAliveTimeout: timeouts.searchEngine.idleConnection.ms,
    keepAliveMaxTimeout: timeouts.searchEngine.idleConnection.ms,
    // Every request has a signal that limits its time.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
}

function isClosedConnection(error: unknown): boolean {
  return error instanceof Error && 'code' in error && closedCodes.has(String(error.code))
}
