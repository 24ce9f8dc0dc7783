// Runs the whole service on real data without any configuration: servers, data, API and indexer.
import { join, resolve } from 'node:path'
import { runCommand } from './cli/command.ts'
import { deleteShellFile, readDemoFile } from './demo/demo-file.ts'
import { startDemoServers } from './demo/demo-servers.ts'
import { prepareDemo } from './demo/prepare-demo.ts'
import { printInstructions } from './demo/printed-instructions.ts'
import { anonymousScopes } from './demo/program-environments.ts'
import type { Program } from './demo/start-programs.ts'
import { makeDirectory } from './servers/data-directory/make-directory.ts'
import { choosePort } from './servers/free-port.ts'

const help = `
Usage: node scripts/demo.ts        (or: make demo)

Starts PostgreSQL, Meilisearch and Redis, loads the demo data on the first start, builds the
search index, runs the API and the indexer on loopback, and prints requests to try. Ctrl+C
stops everything. The data is kept for the next start.

  PORT               port of the API. Default: 3000, or a free port if it is taken
  OPS_PORT           port of health and metrics. Default: 3001, or a free port if it is taken
  DATA_DIR           directory for the data. Default: ./data
  DATABASE_URL       a PostgreSQL to use instead of starting one
  MEILI_URL          a Meilisearch to use instead, with its MEILI_MASTER_KEY
  REDIS_URL          a Redis to use instead
  MEILI_BIN          a Meilisearch program to start instead of the one from npm
  WEB_PARTS          what is served to browsers. Default: palette,dashboard,home
  ANONYMOUS_SCOPES   what callers without a key may do. Default: search:read,stats:read
  PUBLIC_BASE_URL    the address for callers. Default: http://127.0.0.1:PORT
`

const startedAt = performance.now()
const reportProgress = (line: string) =>
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}`)

await runCommand(help, {}, async () => {
  const directory = resolve(process.env.DATA_DIR || 'data')
  const ports = await choosePorts()
  const stop = new AbortController()
  // A second signal ends this process at once. Its children then stop by themselves.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

  const file = join(directory, 'demo.json')
  const previous = readDemoFile(file)
  makeDirectory(directory)
  reportProgress('starting PostgreSQL, Meilisearch and Redis')
  const servers = await startDemoServers(directory, reportProgress)
  // Its addresses may no longer be true.
  deleteShellFile(file)
  const programs: Program[] = []
  try {
    if (stop.signal.aborted) return 0
    const aborted = untilAborted(stop.signal)
    const serverEnded = Promise.race(servers.started.map((server) => server.exited)).then(fail)
    const demo = await Promise.race([
      prepareDemo({
        servers,
        programs,
        directory,
        file,
        previous,
        ports,
        reportProgress,
        signal: stop.signal,
      }),
      serverEnded,
      aborted,
    ])
    if (demo) {
      reportProgress('ready')
      printInstructions(demo, anonymousScopes(), directory)
      const programEnded = Promise.race(programs.map((program) => program.exited)).then(fail)
      await Promise.race([serverEnded, programEnded, aborted])
    }
    return 0
  } finally {
    // Before the programs are stopped, so that no other program is started.
    stop.abort()
    reportProgress('stopping')
    await Promise.all(programs.map((program) => program.stop()))
    await Promise.all(servers.started.map((server) => server.stop()))
  }
})

async function choosePorts(): Promise<{ api: number; ops: number }> {
  const api = await choosePortOf('The API', 'PORT', 3000)
  const ops = await choosePortOf('Health', 'OPS_PORT', 3001)
  if (ops === api) throw new Error(`PORT and OPS_PORT are both ${api}. Choose two ports.`)
  return { api, ops }
}

/** Another demo may use the default port. Only a port that somebody asked for must be free. */
async function choosePortOf(what: string, name: string, defaultPort: number): Promise<number> {
  const text = process.env[name]
  if (text === undefined || text === '')
    return choosePort(what, defaultPort).catch(() => choosePort(what))
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Error(`${name} is not a port number: ${text}`)
  return choosePort(`${what} (${name})`, Number(text))
}

function fail(reason: string): never {
  throw new Error(reason)
}

function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
}
