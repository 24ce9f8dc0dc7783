// Imports products, quotes or words for search from a file.
import { processContext } from './cli/command.ts'
import { runImportCommand } from './cli/import-command.ts'

const stop = new AbortController()
// The abort reason is the exit status, which shells define as 128 plus the number of the signal.
for (const [signal, status] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }))
  process.on(signal, () => {
    // Asked again: the import does not wait for PostgreSQL to cancel the statement.
    if (stop.signal.aborted) process.exit(status)
    stop.abort(status)
  })

process.exitCode = await runImportCommand({
  ...processContext,
  signal: stop.signal,
})
