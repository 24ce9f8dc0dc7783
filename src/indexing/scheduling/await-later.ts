// Starts work now whose result or error is needed later.

/**
 * Returns the promise, which must be awaited later: there its error is thrown. Without this, a
 * promise that rejects before it is awaited would end the process.
 */
export function awaitLater<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined)
  return promise
}
