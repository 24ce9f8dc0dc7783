// The request loop of the child processes that render pages and PDFs. It runs until the service
// ends.

/** Replies to each request with the result of `handle`. The process ends when the service ends. */
export function serveRequests<Request, Result extends object>(
  handle: (request: Request) => Result | Promise<Result>,
): void {
  process.on('message', async (request) => {
    process.send?.(await handle(request as Request))
  })
  // Without this, an open database connection would keep the process running.
  process.once('disconnect', () => process.exit())
  // A terminal or service manager may signal all processes. This process ignores the signal,
  // because the stopping service still needs the results of its open requests. It then ends this
  // process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
}
