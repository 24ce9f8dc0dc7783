// Sends a request that fails if the response does not arrive in time, for example because a network
// drops the packets. Without a limit, a page would wait for ever.

/**
 * The time limit of a request with its response, in milliseconds. The service computes statistics
 * for at most 10 s before it says that it cannot.
 */
export const requestTimeoutMs = 20_000

/**
 * Returns the response of `fetch`. Throws like `fetch`, and a TimeoutError after the time limit,
 * also while the body is read.
 */
export function fetchWithTimeout(url: string, { signal, ...options }: RequestInit = {}) {
  const timeout = AbortSignal.timeout(requestTimeoutMs)
  return fetch(url, { ...options, signal: signal ? AbortSignal.any([signal, timeout]) : timeout })
}
