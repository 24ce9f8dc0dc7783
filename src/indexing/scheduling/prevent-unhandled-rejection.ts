// Keeps a promise that is awaited later from ending the process.

/**
 * Returns the same promise, which must be awaited later: there its error is thrown. Without this,
 * the process would end if the promise rejected before it is awaited.
 */
export function preventUnhandledRejection<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined)
  return promise
}
