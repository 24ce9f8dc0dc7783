// The keep-alive connections to one search engine. A timeout replaces all of them, because a
// firewall or load balancer may have dropped them silently.
import { type Dispatcher, Pool } from 'undici'
import { EngineTimeout } from './request-outcome.ts'

// A search has 300 ms. A reachable engine accepts within milliseconds.
export const engineConnectTimeout = { ms: 250 }
// Shorter than the idle limits of engines and balancers, which close connections too.
export const idleConnectionTimeout = { ms: 4_000 }

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
   * Opens at most `maxConnections` to the server of `url`, when they are needed; further requests
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
    const headers =
      body === null ? this.#headers : { ...this.#headers, 'content-type': 'application/json' }
    const sendOnce = () => dispatch(this.#pool, { method, path, body, headers }, signal)
    try {
      return await sendOnce().catch((error: unknown) => {
        if (signal.aborted || !isClosedConnection(error)) throw error
        return sendOnce()
      })
    } catch (error) {
      if (error instanceof EngineTimeout) this.#replaceAll(startedAt)
      throw error
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
}

/**
 * Sends one request and collects the response. The `request` function of undici would be shorter,
 * but costs 5 to 20 µs more, because it makes a stream of each body.
 */
function dispatch(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<EngineResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const chunks: Buffer[] = []
    let controller: Dispatcher.DispatchController | undefined
    let status = 0
    // Also rejects a request that waits for a connection. It is dropped when it gets one.
    const abort = () => {
      reject(signal.reason)
      controller?.abort(signal.reason)
    }
    signal.addEventListener('abort', abort)
    pool.dispatch(request, {
      onRequestStart(own) {
        controller = own
        if (signal.aborted) abort()
      },
      onResponseStart(_, received) {
        status = received
      },
      onResponseData(_, chunk) {
        chunks.push(chunk)
      },
      onResponseEnd() {
        signal.removeEventListener('abort', abort)
        resolve({ status, body: Buffer.concat(chunks).toString() })
      },
      onResponseError(_, error) {
        signal.removeEventListener('abort', abort)
        reject(signal.aborted ? signal.reason : error)
      },
    })
  })
}

function openPool(origin: string): Pool {
  return new Pool(origin, {
    connections: maxConnections,
    connectTimeout: engineConnectTimeout.ms,
    keepAliveTimeout: idleConnectionTimeout.ms,
    keepAliveMaxTimeout: idleConnectionTimeout.ms,
    // Every request has a signal that limits its time.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
}

function isClosedConnection(error: unknown): boolean {
  return error instanceof Error && 'code' in error && closedCodes.has(String(error.code))
}
