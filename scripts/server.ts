// Starts the API with the settings of .env, by `scripts/run server`.
import { runCommand, UsageError } from './cli/command.ts'

const help = `
Usage: scripts/run server

Runs one process of the API until it is stopped. It reads the settings of .env and of the
environment, which wins; .env.example explains each one. All settings are checked first, and
invalid ones are listed. The process waits for PostgreSQL for START_TIMEOUT_SECONDS. It answers
requests on HOST and PORT, and serves health and metrics on OPS_HOST and OPS_PORT. Its log is JSON.

SIGTERM and Ctrl+C stop it: it becomes not ready, serves for STOP_DELAY_SECONDS, finishes pending
requests, and exits with status 0. A second Ctrl+C ends it at once with status 1.

Exits with status 1 if it cannot start: a setting is invalid, PostgreSQL is away for too long, a
migration is missing (run \`scripts/run migrate\`), or a port is taken. Exits with status 2 if the
command is wrong.
`

await runCommand(help, {}, async (_options, [argument]) => {
  if (argument !== undefined) throw new UsageError(`Unexpected argument: ${argument}.`)
  // Loaded here, so that --help answers at once.
  const { startOrExit } = await import('../src/server.ts')
  await startOrExit()
  return 0
})
