// What the programs of rendering processes share: they answer requests until the service ends.

/** Sends what `handle` returns for each request. The process ends with the service. */
export function answerRequests<Request, Result extends object>(
  handle: (request: Request) => Result | Promise<Result>,
): void {
  process.on('message', async (request) => {
    process.send?.(await handle(request as Request))
  })
  // A connection to the database would keep the process running.
  process.once('disconnect', () => process.exit())
  // A terminal or service manager may signal all processes. Requests under way are still answered
  // while the service stops, and then it ends this process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
}
