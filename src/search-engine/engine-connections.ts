// The keep-alive connections to one search engine. Connections that the network has forgotten are
// replaced as soon as one of them is found to be silent.
import { type Dispatcher, Pool } from 'undici'
import { timeouts } from '../timeouts.ts'

export type EngineResponse = { status: number; body: string }

const maxConnections = 128

/** Errors of a connection that the engine closed before it had answered. */
const closedCodes = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

export class EngineConnections {
  readonly #origin: string
  readonly #headers: Record<string, string>
  #pool: Pool
  #respondedAt = Number.NEGATIVE_INFINITY

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
   * working. A connection that the engine has closed while it was idle costs one more attempt:
   * searches have no side effects.
   */
  async send(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<EngineResponse> {
    try {
      return await this.#sendOnce(method, path, body, signal)
    } catch (error) {
      if (signal.aborted || !isClosedConnection(error)) throw error
      return this.#sendOnce(method, path, body, signal)
    }
  }

  /**
   * Replaces all connections if none of them has received anything since `since` (a time of
   * `performance.now()`). A balancer or host may have forgotten them silently: then every request
   * on one of them would time out. Requests under way continue.
   */
  replaceIfSilentSince(since: number): void {
    if (this.#respondedAt >= since) return
    const silent = this.#pool
    this.#pool = openPool(this.#origin)
    // It waits for the requests under way, whose own time limits end them.
    void silent.close()
  }

  /** Closes all connections. Requests under way fail. */
  async close(): Promise<void> {
    await this.#pool.destroy()
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
      const reader = new ResponseReader(signal, reject, (response) => {
        this.#respondedAt = performance.now()
        resolve(response)
      })
      pool.dispatch({ method, path, body, headers }, reader)
    })
  }
}

/**
 * Collects one response. The `request` function of undici costs 5 to 20 µs more, because it makes a
 * stream of each body.
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
