// Waiting for PostgreSQL with an end: a database that hangs counts as one that is away.

const patienceMs = 1_000

/** What `work` comes to, or an error after a second. The work itself is not stopped. */
export function within<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`PostgreSQL does not say who may call within ${patienceMs} ms`)),
      patienceMs,
    )
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}
